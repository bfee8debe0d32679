/**
 * Commands in a simulated container. A few commands are supported, for interactive use; all of them
 * are pure except `cat`, which echoes its input when it has no files as arguments.
 */
export interface Container extends Partial<ContainerEnvironment> {
  readonly pod: string;
  readonly name: string;
  readonly image: string;
}

/** The environment of a container. */
export interface ContainerEnvironment {
  readonly env: ReadonlyMap<string, string>;
  /** The files by their paths. */
  readonly files: ReadonlyMap<string, string>;
}

/** `echoes`: standard input is echoed until it ends. */
export interface CommandResult {
  readonly stdout: string;
  readonly stderr: string;
  readonly exitCode: number;
  readonly echoes: boolean;
}

const result = (given: Partial<CommandResult>): CommandResult => ({
  stdout: "",
  stderr: "",
  exitCode: 0,
  echoes: false,
  ...given,
});

export function simulatedCommand(command: readonly string[], container: Container): CommandResult {
  const [program = "", ...args] = command;
  switch (program.replace(/^.*\//, "")) {
    case "cat":
      return args.length === 0 ? result({ echoes: true }) : concatenated(args, container);
    case "env":
    case "printenv":
      return printed(args, container);
    case "echo":
      return result({ stdout: `${args.join(" ")}\n` });
    case "hostname":
      return result({ stdout: `${container.pod}\n` });
    case "true":
      return result({});
    case "false":
      return result({ exitCode: 1 });
    case "sh":
    case "bash":
      return shell(args, container);
    default:
      return result({
        stderr: `exec: "${program}": a simulated container knows cat, echo, env, false, hostname, printenv, sh -c and true\n`,
        exitCode: 126,
      });
  }
}

function concatenated(paths: readonly string[], { files }: Container): CommandResult {
  const texts = paths.map((path) => files?.get(path));
  const missing = paths.filter((_path, index) => texts[index] === undefined);
  const stderr = missing.map((path) => `cat: ${path}: No such file or directory\n`).join("");
  return result({ stdout: texts.join(""), stderr, exitCode: missing.length === 0 ? 0 : 1 });
}

function printed(names: readonly string[], { env = new Map() }: Container): CommandResult {
  const all = [...env].map(([name, value]) => `${name}=${value}`);
  if (names.length === 0) return result({ stdout: all.map((line) => `${line}\n`).join("") });
  const found = names.filter((name) => env.has(name)).map((name) => `${env.get(name)}\n`);
  return result({ stdout: found.join(""), exitCode: found.length === names.length ? 0 : 1 });
}

/**
 * `sh -c "exit 3"`, and the other supported commands, one after the other. Without `-c`, the shell
 * echoes its input.
 */
function shell(args: readonly string[], container: Container): CommandResult {
  if (args[0] !== "-c") return result({ echoes: true });
  let [stdout, stderr] = ["", ""];
  for (const text of (args[1] ?? "").split(/;|&&|\n/)) {
    const words = text.trim().split(/\s+/);
    if (words[0] === "") continue;
    if (words[0] === "exit") return result({ stdout, stderr, exitCode: Number(words[1] ?? 0) });
    const next = simulatedCommand(words, container);
    stdout += next.stdout;
    stderr += next.stderr;
    if (next.exitCode !== 0) return result({ stdout, stderr, exitCode: next.exitCode });
  }
  return result({ stdout, stderr });
}

/** The Status that the client gets when a command has ended. */
export function statusOf(exitCode: number): object {
  const status = { metadata: {}, kind: "Status", apiVersion: "v1" };
  if (exitCode === 0) return { ...status, status: "Success" };
  return {
    ...status,
    status: "Failure",
    message: `command terminated with non-zero exit code: exit status ${exitCode}`,
    reason: "NonZeroExitCode",
    details: { causes: [{ reason: "ExitCode", message: String(exitCode) }] },
  };
}
