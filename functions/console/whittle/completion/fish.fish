# Completion of whittle for fish. It asks the program itself, which knows commands, flags and names.
function __whittle_complete
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    set -l program $words[1]
    set -e words[1]
    set -l lines ($program __complete $words "$current" 2>/dev/null)
    set -l directive (string replace -r '^:' '' -- $lines[-1])
    set -e lines[-1]
    if test (count $lines) -eq 0
        if test "$directive" = 0
            __fish_complete_path "$current"
        end
        return
    end
    set -l prefix (string match -r -- '^-[^=]*=' "$current")
    for line in $lines
        printf '%s%s\n' "$prefix" "$line"
    end
end
complete -c whittle -f -a '(__whittle_complete)'
complete -c kubectl-whittle -f -a '(__whittle_complete)'
