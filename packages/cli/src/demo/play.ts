/** Plays a story: says each step, waits for the word to go on, and shows what happens until it has happened. */
import { createInterface } from "node:readline/promises";
import { type Clock, sleep } from "@kcp-ts/machinery/base";
import colors from "picocolors";
import { type DemoView, drawDemoView } from "./scene.ts";
import type { DemoEnvironment } from "./stage.ts";
import type { DemoStep } from "./story.ts";

export interface RunDemoOptions {
  readonly steps: readonly DemoStep[];
  readonly stage: DemoEnvironment;
  /** Nobody is asked. */
  readonly auto: boolean;
  readonly output: NodeJS.WriteStream;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Whoever is asked answers with Ctrl-C or Ctrl-D: on a terminal that is no signal. Aborts `signal`. */
  readonly onInterrupt: () => void;
}

/** A step that did not come about. */
export class DemoStepFailed extends Error {
  override readonly name = "DemoStepFailed";
}

const lookMs = 150;
/** For one step, on a slow machine. */
const stepMsMax = 90_000;

export async function runDemo(options: RunDemoOptions): Promise<void> {
  const { steps, stage, auto, output, signal } = options;
  const { bold, cyan, dim } = colors;
  for (const [index, step] of steps.entries()) {
    const say = (line = "") => output.write(`${line}\n`);
    say();
    say(bold(`${index + 1}/${steps.length}  ${step.title}`));
    for (const line of step.text) say(`     ${line}`);
    say();
    for (const command of step.commands(stage)) say(`     ${dim("$")} ${cyan(command)}`);
    say();
    if (!auto) await untilEnter(step.act === undefined ? "go on" : "do it", options);
    signal.throwIfAborted();
    await step.act?.(stage);
    await watch(step, options);
  }
}

async function watch(step: DemoStep, options: RunDemoOptions): Promise<void> {
  const { stage, clock, signal, output } = options;
  const screen = new Screen(output);
  const giveUpAtMs = clock.monotonic() + stepMsMax;
  for (;;) {
    const scene = await stage.look();
    screen.show(scene);
    const missing = step.until(scene);
    const wrong = step.never?.(scene);
    if (wrong !== undefined) throw new DemoStepFailed(`${step.title}: ${wrong}`);
    if (missing === undefined) break;
    if (clock.monotonic() >= giveUpAtMs) throw new DemoStepFailed(`${step.title}: ${missing}`);
    await sleep(clock, lookMs, signal);
  }
  output.write(`\n     ${colors.green("✓")} ${step.title}\n`);
}

/** On a terminal the table is drawn over itself; elsewhere, each time it is another one. */
class Screen {
  readonly #output: NodeJS.WriteStream;
  #shown = "";

  constructor(output: NodeJS.WriteStream) {
    this.#output = output;
  }

  show(scene: DemoView): void {
    const text = drawDemoView(scene);
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
