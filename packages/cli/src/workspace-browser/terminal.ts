/**
 * The terminal of this process: while it is open, the browser uses the full screen; afterwards the
 * terminal is as before.
 */
import type { ReadStream, WriteStream } from "node:tty";
import type { Size } from "./tree-view.ts";

export interface Terminal {
  readonly size: Size;
  readonly hasColors: boolean;
  /** Returns a function that restores the terminal. */
  open(listener: TerminalListener): () => void;
  show(lines: readonly string[]): void;
}

export interface TerminalListener {
  readonly onText: (text: string) => void;
  readonly onResize: () => void;
  /** The terminal was closed, or the process got a signal. */
  readonly onEnd: () => void;
}

export interface TerminalStreams {
  readonly stdin: ReadStream;
  readonly stdout: WriteStream;
  readonly env: Readonly<Record<string, string | undefined>>;
}

const otherScreen = "\u001b[?1049h";
const ownScreen = "\u001b[?1049l";
const hideCursor = "\u001b[?25l";
const showCursor = "\u001b[?25h";
const home = "\u001b[H";
const eraseLine = "\u001b[K";
const eraseBelow = "\u001b[J";

/** The size of a terminal that does not report one. */
const usualSize: Size = { columns: 80, rows: 24 };
const signals = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/** Throws, with a message for users, when there is no terminal. */
export function processTerminal(streams: TerminalStreams): Terminal {
  const { stdin, stdout, env } = streams;
  if (stdin.isTTY !== true)
    throw new Error("interactive mode needs a terminal, and standard input is none");
  if (stdout.isTTY !== true)
    throw new Error("interactive mode needs a terminal, and standard output is none");
  if (env["TERM"] === "dumb")
    throw new Error("interactive mode needs a terminal that can be drawn on, and TERM says dumb");
  return new ProcessTerminal(streams);
}

class ProcessTerminal implements Terminal {
  readonly hasColors: boolean;
  readonly #streams: TerminalStreams;

  constructor(streams: TerminalStreams) {
    this.#streams = streams;
    this.hasColors = (streams.env["NO_COLOR"] ?? "") === "";
  }

  get size(): Size {
    const { columns, rows } = this.#streams.stdout;
    return { columns: columns || usualSize.columns, rows: rows || usualSize.rows };
  }

  open({ onText, onResize, onEnd }: TerminalListener): () => void {
    const { stdin, stdout } = this.#streams;
    stdin.setRawMode(true);
    stdin.setEncoding("utf8");
    stdin.on("data", onText);
    stdin.on("end", onEnd);
    stdout.on("resize", onResize);
    for (const signal of signals) process.on(signal, onEnd);
    stdout.write(otherScreen + hideCursor);
    return () => {
      stdin.off("data", onText);
      stdin.off("end", onEnd);
      stdout.off("resize", onResize);
      for (const signal of signals) process.off(signal, onEnd);
      stdout.write(showCursor + ownScreen);
      stdin.setRawMode(false);
      // An open input keeps the process alive.
      stdin.pause();
      stdin.unref();
    };
  }

  /** In one write, and without erasing first, so that the screen does not flicker. */
  show(lines: readonly string[]): void {
    const seen = lines.slice(0, this.size.rows);
    const text = seen.map((line) => line + eraseLine).join("\r\n");
    this.#streams.stdout.write(home + text + eraseBelow);
  }
}
