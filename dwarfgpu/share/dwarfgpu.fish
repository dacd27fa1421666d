function __dwarfgpu
  set -l found (command dwarfgpu completion fish -- (commandline -opc)[2..-1] (commandline -ct) 2>/dev/null)
  if test -n "$found"
    printf '%s\n' $found
  else
    __fish_complete_path (commandline -ct)
  end
end
complete -c dwarfgpu -f -a '(__dwarfgpu)'
