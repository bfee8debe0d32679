/**
 * Runs the steps of a demo: prints each step, waits for Enter, and shows the state until the
 * expected result is reached.
 */
import { createInterface } from "node:readline/promises";
import { type Clock, sleep } from "@kcp-ts/machinery/base";
import colors from "picocolors";
import type { DemoEnvironment } from "./demo-environment.ts";
import type { DemoStep } from "./demo-steps.ts";
import { type DemoView, drawDemoView } from "./demo-view.ts";

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
    for (const line of step.text) say(`     ${line}`);
    say();
    for (const command of step.commands(environment)) say(`     ${dim("$")} ${cyan(command)}`);
    say();
    if (!auto) await untilEnter(step.run === undefined ? "go on" : "do it", options);
    signal.throwIfAborted();
    await step.run?.(environment);
    await watch(step, options);
  }
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

/** On a terminal the table is redrawn in place; elsewhere it is printed each time it changes. */
class Screen {
  readonly #output: NodeJS.WriteStream;
  #shown = "";

  constructor(output: NodeJS.WriteStream) {
    this.#output = output;
  }

  show(demoView: DemoView): void {
    const text = drawDemoView(demoView);
    if (text === this.#shown) return;
    if (this.#shown !== "") {
      const lines = this.#shown.split("\n").length;
      this.#output.write(this.#output.isTTY === true ? `\u001b[${lines}A\u001b[0J` : "\n");
    }
    this.#output.write(`${text}\n`);
    this.#shown = text;
  }
}

async function untilEnter(
  what: string,
  { signal, onInterrupt, output }: RunDemoOptions,
): Promise<void> {
  const terminal = createInterface({ input: process.stdin, output });
  terminal.on("SIGINT", onInterrupt);
  terminal.on("close", onInterrupt);
  try {
    await terminal.question(colors.dim(`     Enter to ${what}, or type it yourself first: `), {
      signal,
    });
  } finally {
    terminal.off("close", onInterrupt);
    terminal.close();
  }
}
