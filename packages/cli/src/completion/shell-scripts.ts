/** What a shell evaluates to complete `kcp`; the command itself finds the words. */
export const shells = ["bash", "zsh", "fish"] as const;
export type Shell = (typeof shells)[number];

export const shellScripts: Readonly<Record<Shell, string>> = {
  bash: `_kcp() {
  local IFS=$'\\n'
  COMPREPLY=($("\${COMP_WORDS[0]}" __complete -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
}
complete -o default -F _kcp kcp kcp-ts
`,
  zsh: `#compdef kcp kcp-ts
_kcp() {
  local -a found
  found=("\${(@f)$("\${words[1]}" __complete -- "\${(@)words[2,CURRENT]}" 2>/dev/null)}")
  if [[ -n "\${found[*]}" ]]; then compadd -- "\${found[@]}"; else _files; fi
}
compdef _kcp kcp kcp-ts
`,
  fish: `function __kcp_complete
  set -l words (commandline -opc) (commandline -ct)
  $words[1] __complete -- $words[2..-1] 2>/dev/null
end
complete -c kcp -a '(__kcp_complete)'
complete -c kcp-ts -a '(__kcp_complete)'
`,
};
