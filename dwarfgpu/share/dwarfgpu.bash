# dwarfgpu: completion for bash. eval "$(dwarfgpu completion bash)"
_dwarfgpu() {
  local line
  COMPREPLY=()
  while IFS= read -r line; do
    COMPREPLY+=("$line")
  done < <(command dwarfgpu completion bash -- "${COMP_LINE:0:COMP_POINT}" 2>/dev/null)
  [[ ${COMPREPLY[0]} != *= ]] || compopt -o nospace 2>/dev/null
}
complete -o default -F _dwarfgpu dwarfgpu
