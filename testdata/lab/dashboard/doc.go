// Package dashboard shows the widget of the console function on a page of its own. It does for the
// widget what CloudWatch's dashboard does, as far as this function needs it. The page asks for the
// widget again every two seconds.
package dashboard
