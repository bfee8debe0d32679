/** `kcp completion <shell>`: prints what the shell evaluates; `kcp __complete` finds the words. */
import { Argument, type Command } from "commander";
import { complete, type Shell, shellScripts, shells } from "../completion/index.ts";

export function addCompletion(program: Command): void {
  program
    .command("completion")
    .description("Print the shell code that completes kcp.")
    .addArgument(new Argument("<shell>", "the shell").choices(shells))
    .addHelpText("after", help)
    .action((shell: Shell) => {
      process.stdout.write(shellScripts[shell]);
    });
  program
    .command("__complete", { hidden: true })
    .argument("[words...]")
    .action((words: readonly string[]) => {
      const { words: found } = complete(program, words);
      process.stdout.write(found.map((word) => `${word}\n`).join(""));
    });
}

const help = `
Examples:
  source <(kcp completion bash)
  kcp completion zsh > "\${fpath[1]}/_kcp"
  kcp completion fish | source

kubectl completes its plug-ins by the programs kubectl_complete-kcp, kubectl_complete-ws and
kubectl_complete-create-workspace, which are installed beside kcp.
`;
