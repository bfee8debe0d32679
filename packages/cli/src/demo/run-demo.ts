/**
 * Runs the steps of a demo: prints each step, waits for Enter, and shows the state until the
 * expected result is reached.
 */
import { createInterface } from "node:readline/promises";
import { type Clock, sleep } from "@kcp-ts/machinery/base";
import colors from "picocolors";
import type { DemoEnvironment } from "./demo-environment.ts";
import { type DemoStep, nextCommands } from "./demo-steps.ts";
import { type DemoView, drawDemoView } from "./demo-view.ts";
import { runPlugin, runTypedLine } from "./typed-line.ts";

export interface RunDemoOptions {
  readonly steps: readonly DemoStep[];
  readonly environment: DemoEnvironment;
  /** Steps continue without waiting for Enter. */
  readonly auto: boolean;
  readonly output: NodeJS.WriteStream;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /**
   * The user pressed Ctrl-C or Ctrl-D at a prompt: on a terminal in raw mode this is no signal.
   * Aborts `signal`.
   */
  readonly onInterrupt: () => void;
}

/** A step whose expected result was not reached. */
export class DemoStepFailed extends Error {
  override readonly name = "DemoStepFailed";
}

const lookMs = 150;
/** The timeout of one step, on a slow machine. */
const stepMsMax = 90_000;

export async function runDemo(options: RunDemoOptions): Promise<void> {
  const { steps, environment, auto, output, signal } = options;
  const { bold, cyan, dim } = colors;
  for (const [index, step] of steps.entries()) {
    const say = (line = "") => output.write(`${line}\n`);
    say();
    say(bold(`${index + 1}/${steps.length}  ${step.title}`));
    for (const line of wrapped(step.text, textColumns)) say(`     ${line}`);
    say();
    for (const command of step.commands) say(`     ${dim("$")} ${cyan(command)}`);
    say();
    if (!auto) await untilEnter(step.run === undefined ? "go on" : "do it", options);
    signal.throwIfAborted();
    await step.run?.(environment);
    if (step.plugin !== undefined) {
      await runPlugin(step.plugin, environment.controlPlane.kubeconfigPath);
      say();
    }
    await watch(step, options);
  }
}

/** At the end: the commands to try next, and a prompt for them until Enter alone is typed. */
export async function offerNext(options: RunDemoOptions): Promise<void> {
  const { bold, cyan, dim } = colors;
  const say = (line = "") => options.output.write(`${line}\n`);
  say();
  say(bold("What to try next"));
  for (const [command, effect] of nextCommands) {
    say(`     ${dim("$")} ${cyan(command)}`);
    say(`       ${dim(effect)}`);
  }
  say();
  for (const line of wrapped(reading, textColumns)) say(`     ${line}`);
  say();
  if (!options.auto) await untilEnter("end", options);
}

const reading =
  "docs/guides/drain.md follows a cluster through its life, docs/guides/placement.md tells which clusters are chosen, docs/multicluster.md how it works.";

/** A terminal of 80 columns, less the indentation. */
const textColumns = 74;

export function wrapped(text: string, columns: number): readonly string[] {
  const lines: string[] = [];
  for (const word of text.split(" ")) {
    const last = lines.at(-1);
    if (last === undefined || last.length + 1 + word.length > columns) lines.push(word);
    else lines[lines.length - 1] = `${last} ${word}`;
  }
  return lines;
}

async function watch(step: DemoStep, options: RunDemoOptions): Promise<void> {
  const { environment, clock, signal, output } = options;
  const screen = new Screen(output);
  const giveUpAtMs = clock.monotonic() + stepMsMax;
  for (;;) {
    const scene = await environment.view();
    screen.show(scene);
    const missing = step.until(scene);
    const wrong = step.invariant?.(scene);
    if (wrong !== undefined) throw new DemoStepFailed(`${step.title}: ${wrong}`);
    if (missing === undefined) break;
    if (clock.monotonic() >= giveUpAtMs) throw new DemoStepFailed(`${step.title}: ${missing}`);
    await sleep(clock, lookMs, signal);
  }
  output.write(`\n     ${colors.green("✓")} ${step.title}\n`);
}

/**
 * On a terminal the table is redrawn in place; elsewhere it is printed each time that more than the
 * number of requests changes.
 */
class Screen {
  readonly #output: NodeJS.WriteStream;
  #shown = "";
  #compared = "";

  constructor(output: NodeJS.WriteStream) {
    this.#output = output;
  }

  show(demoView: DemoView): void {
    const isLive = this.#output.isTTY === true;
    const text = drawDemoView(demoView);
    const compared = isLive ? text : drawDemoView({ ...demoView, traffic: undefined });
    if (compared === this.#compared) return;
    if (this.#shown !== "") {
      const lines = this.#shown.split("\n").length;
      this.#output.write(isLive ? `\u001b[${lines}A\u001b[0J` : "\n");
    }
    this.#output.write(`${text}\n`);
    this.#shown = text;
    this.#compared = compared;
  }
}

/** Runs the kubectl lines that are typed, until Enter alone. */
async function untilEnter(
  what: string,
  { signal, onInterrupt, output, environment }: RunDemoOptions,
): Promise<void> {
  for (;;) {
    const terminal = createInterface({ input: process.stdin, output });
    terminal.on("SIGINT", onInterrupt);
    terminal.on("close", onInterrupt);
    let line: string;
    try {
      output.write(colors.dim(`     Enter to ${what}, or type a kubectl line:\n`));
      line = (await terminal.question(`     ${colors.dim("$")} `, { signal })).trim();
    } finally {
      terminal.off("close", onInterrupt);
      terminal.close();
    }
    if (line === "") return;
    await runTypedLine(line, {
      folder: environment.folder,
      kubeconfigPath: environment.controlPlane.kubeconfigPath,
      say: (text) => output.write(`     ${text}\n`),
    });
  }
}
