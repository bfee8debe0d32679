/**
 * For scenarios: a shell in a folder of its own, with the machine's kubectl, that runs their
 * commands.
 */
import { spawn } from "node:child_process";
import { chmod, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { systemClock } from "@kcp-ts/machinery/base";
import { eventually, findKubectl } from "@kcp-ts/testkit";
import { isPrinted, type Scenario, type Step } from "./scenario.ts";

/** A machine may be slow: how long something takes decides no test. */
const gracePeriods = { timeoutMs: 120_000, intervalMs: 100 };
const commandMs = 120_000;

interface Printed {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export class Terminal {
  readonly folder: string;
  /** What is done when a transcript says `@ …`. */
  readonly #cues: (words: string) => Promise<void>;

  private constructor(folder: string, cues: (words: string) => Promise<void>) {
    this.folder = folder;
    this.#cues = cues;
  }

  static async open(cues: (words: string) => Promise<void>): Promise<Terminal> {
    const folder = await mkdtemp(join(tmpdir(), "kcp-transcript-"));
    await mkdir(join(folder, "bin"));
    const kubectl = join(folder, "bin", "kubectl");
    // What was served a moment ago is not what is served now: nothing of discovery is remembered.
    const script = `#!/bin/sh\nexec '${findKubectl()}' --cache-dir "$HOME/cache/$$" "$@"\n`;
    await writeFile(kubectl, script);
    await chmod(kubectl, 0o755);
    return new Terminal(folder, cues);
  }

  async write(name: string, content: string | object): Promise<void> {
    const text = typeof content === "string" ? content : `${JSON.stringify(content)}\n`;
    await writeFile(join(this.folder, name), text);
  }

  async run({ steps }: Scenario): Promise<void> {
    for (const step of steps) {
      if (step.kind === "cue") await this.#cues(step.text);
      else await this.#perform(step);
    }
  }

  async close(): Promise<void> {
    await rm(this.folder, { recursive: true, force: true });
  }

  async #perform(step: Extract<Step, { kind: "command" }>): Promise<void> {
    const check = async () => {
      const { code, stdout, stderr } = await this.#run(step.text);
      const isRight =
        step.fails === (code !== 0) &&
        isPrinted(step.lines, step.fails ? withoutWarnings(stderr) : stdout);
      if (isRight) return;
      const wanted = [...(step.fails ? ["(it fails)"] : []), ...step.lines].join("\n");
      const printed = `${stdout}${stderr}(it ends with ${code})`;
      throw new Error(`${step.text}\n--- is to print\n${wanted}\n--- prints\n${printed}`);
    };
    await (step.isRepeated ? eventually(check, gracePeriods) : check());
  }

  async #run(command: string): Promise<Printed> {
    const { folder } = this;
    const path = `${join(folder, "bin")}${delimiter}${process.env["PATH"]}`;
    // Nothing of the user's own settings.
    const env = { PATH: path, HOME: folder, KUBECONFIG: join(folder, "kubeconfig") };
    const child = spawn("/bin/sh", ["-c", command], { cwd: folder, env, stdio: "pipe" });
    const onExit = () => child.kill("SIGKILL");
    process.once("exit", onExit);
    const timer = systemClock.schedule(commandMs, onExit);
    const output = { stdout: "", stderr: "" };
    child.stdout.on("data", (bytes: Buffer) => {
      output.stdout += bytes.toString();
    });
    child.stderr.on("data", (bytes: Buffer) => {
      output.stderr += bytes.toString();
    });
    child.stdin.end();
    const code = await new Promise<number | null>((resolve) => child.once("close", resolve));
    timer.cancel();
    process.removeListener("exit", onExit);
    return { code, ...output };
  }
}

/** Which warnings kubectl prints before an error depends on its version. */
function withoutWarnings(text: string): string {
  return text.replace(/^Warning: .*\n/gm, "");
}
