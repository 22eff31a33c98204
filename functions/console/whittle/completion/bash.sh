# Completion of whittle for bash. It asks the program itself, which knows commands, flags and names.
_whittle() {
  local i word line directive=0 last
  local -a words=()
  COMPREPLY=()
  # Bash splits words at = and at colons. The program gets them whole.
  for ((i = 1; i <= COMP_CWORD; i++)); do
    word=${COMP_WORDS[i]}
    if ((${#words[@]} > 0)) && [[ $word == [=:]* || ${COMP_WORDS[i - 1]} == [=:] ]]; then
      words[${#words[@]} - 1]+=$word
    else
      words+=("$word")
    fi
  done
  last=${words[${#words[@]} - 1]}
  while IFS= read -r line; do
    case $line in
      :[0-9]*) directive=${line#:} ;;
      *) COMPREPLY+=("${line%%$'\t'*}") ;;
    esac
  done < <("${COMP_WORDS[0]/#\~/$HOME}" __complete "${words[@]}" 2>/dev/null)
  # What is written before the last colon stays where it is.
  last=${last#-*=}
  if [[ $last == *:* && $COMP_WORDBREAKS == *:* ]]; then
    for i in "${!COMPREPLY[@]}"; do
      COMPREPLY[i]=${COMPREPLY[i]#"${last%:*}:"}
    done
  fi
  ((directive & 2)) && compopt -o nospace 2>/dev/null
  ((directive & 4)) && compopt +o default 2>/dev/null
  return 0
}
complete -o default -F _whittle whittle kubectl-whittle
