#compdef whittle kubectl-whittle
# Completion of whittle for zsh. It asks the program itself, which knows commands, flags and names.
_whittle() {
  local line directive=0 prefix
  local -a lines found room
  lines=("${(@f)$("${(Q)words[1]/#\~/$HOME}" __complete "${(@Q)words[2,CURRENT]}" 2>/dev/null)}")
  for line in "${lines[@]}"; do
    case $line in
      (:[0-9]*) directive=${line#:} ;;
      (?*) found+=("${${line%%$'\t'*}//:/\\:}${${(M)line%%$'\t'*}:+:${line#*$'\t'}}") ;;
    esac
  done
  [[ $PREFIX == -*=* ]] && compset -P '-*='
  ((directive & 2)) && room=(-S '')
  if ((${#found} > 0)); then
    _describe -V whittle found "${room[@]}"
  elif ((!(directive & 4))); then
    _files
  fi
}
# A file of $fpath runs as the function itself. A sourced script registers it.
if [[ ${funcstack[1]} == _whittle ]]; then
  _whittle "$@"
else
  (($+functions[compdef])) || { autoload -U compinit && compinit; }
  compdef _whittle whittle kubectl-whittle
fi
