// Asks for the widget anew every two seconds, and does what CloudWatch does with its
// <cwdb-action> elements: the element before one is a button that calls the function.
'use strict';

const interval = 2000;
const widget = document.getElementById('widget');
const state = document.getElementById('state');
let parameters = '{}'; // of the button that was pressed last
let newest = 0; // number of the request that was sent last
let shown = ''; // the widget as it came
let next;

async function show() {
  clearTimeout(next);
  const request = ++newest;
  try {
    const response = await fetch('widget', { method: 'POST', body: parameters });
    const text = await response.text();
    if (request !== newest) return; // a button was pressed meanwhile
    if (!response.ok) throw new Error(text);
    replace(text);
    state.textContent = 'live';
    state.className = '';
  } catch (error) {
    if (request !== newest) return;
    state.textContent = `not up to date: ${error.message.trim()}`;
    state.className = 'late';
  }
  next = setTimeout(show, interval);
}

// replace keeps what the person has done: a selection, the focus, scrolled tables.
function replace(text) {
  if (text === shown || !getSelection().isCollapsed) return;
  const stops = () => [...widget.querySelectorAll('[tabindex]')];
  const tables = () => [...widget.querySelectorAll('.scroll')];
  const focused = stops().indexOf(document.activeElement);
  const scrolled = tables().map((table) => table.scrollLeft);
  widget.innerHTML = shown = text;
  stops()[focused]?.focus({ preventScroll: true });
  tables().forEach((table, i) => { table.scrollLeft = scrolled[i] ?? 0; });
}

function press(event) {
  const action = event.target.closest('[role=button]')?.nextElementSibling;
  if (action?.localName !== 'cwdb-action') return;
  event.preventDefault();
  parameters = action.textContent;
  shown = '';
  show();
}

widget.addEventListener('click', press);
widget.addEventListener('keydown', (event) => {
  if (event.key === 'Enter' || event.key === ' ') press(event);
});
document.addEventListener('visibilitychange', () => {
  if (document.hidden) clearTimeout(next);
  else show();
});
next = setTimeout(show, interval);
