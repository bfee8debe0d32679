/**
 * Screen: the state of a terminal, by xterm.js without its drawing. What containers print is data
 * for its parser: it reaches the document as text only, and no sequence of bytes opens, sends or
 * runs anything here.
 *
 * xterm.js' own drawing writes style elements, which the policy of the page forbids.
 */
import headless, { type IBufferCell, type Terminal } from "@xterm/headless";

export interface ScreenOptions {
  /** Lines that scrolled off the top. */
  readonly scrollbackMax: number;
  /** Whether a line feed also returns to the first column, as in logs. */
  readonly isLog: boolean;
}

/** Neighbouring cells that look the same. */
export interface Span {
  readonly text: string;
  readonly classes: string;
  /** Colours that are not of the palette. */
  readonly color?: string;
  readonly background?: string;
}

export class Screen {
  readonly #terminal: Terminal;
  readonly #cell: IBufferCell;

  constructor({ scrollbackMax, isLog }: ScreenOptions) {
    this.#terminal = new headless.Terminal({
      scrollback: scrollbackMax,
      convertEol: isLog,
      allowProposedApi: true,
      cols: 80,
      rows: 24,
    });
    this.#cell = this.#terminal.buffer.active.getNullCell();
  }

  get columns(): number {
    return this.#terminal.cols;
  }

  get rows(): number {
    return this.#terminal.rows;
  }

  /** The first line that is seen, and the number of all lines. */
  get position(): { readonly top: number; readonly bottom: number; readonly lines: number } {
    const { viewportY, baseY } = this.#terminal.buffer.active;
    return { top: viewportY, bottom: baseY, lines: baseY + this.#terminal.rows };
  }

  get hasApplicationCursorKeys(): boolean {
    return this.#terminal.modes.applicationCursorKeysMode;
  }

  /** Resolves when it is on the screen: who writes much waits, and holds what it reads back. */
  write(data: string | Uint8Array): Promise<void> {
    return new Promise((resolve) => this.#terminal.write(data, resolve));
  }

  clear(): void {
    this.#terminal.reset();
  }

  resize(columns: number, rows: number): void {
    if (columns !== this.columns || rows !== this.rows) this.#terminal.resize(columns, rows);
  }

  scroll(lines: number): void {
    this.#terminal.scrollLines(lines);
  }

  /** Called after what was written is on the screen; returns how to stop. */
  onChange(changed: () => void): () => void {
    const listeners = [
      this.#terminal.onWriteParsed(changed),
      this.#terminal.onResize(changed),
      this.#terminal.onScroll(changed),
    ];
    return () => {
      for (const one of listeners) one.dispose();
    };
  }

  /** What the terminal itself answers to programs that ask for its state. */
  onAnswer(answer: (text: string) => void): () => void {
    const listener = this.#terminal.onData(answer);
    return () => listener.dispose();
  }

  close(): void {
    this.#terminal.dispose();
  }

  /** The cells of a line on the screen, as spans. */
  spans(row: number, withCursor: boolean): readonly Span[] {
    const { active } = this.#terminal.buffer;
    const line = active.getLine(active.viewportY + row);
    if (line === undefined) return [];
    const isCursorLine = withCursor && active.baseY + active.cursorY === active.viewportY + row;
    const cursorAt = isCursorLine ? active.cursorX : -1;
    const spans: Span[] = [];
    let end = line.length;
    while (end > cursorAt + 1 && isBlank(line.getCell(end - 1, this.#cell))) end--;
    for (let at = 0; at < end; at++) {
      const cell = line.getCell(at, this.#cell);
      if (cell === undefined || cell.getWidth() === 0) continue;
      const look = lookOf(cell, at === cursorAt);
      const last = spans.at(-1);
      const text = cell.getChars() || " ";
      if (last !== undefined && isSameLook(last, look))
        spans[spans.length - 1] = { ...last, text: last.text + text };
      else spans.push({ text, ...look });
    }
    return spans;
  }

  /** All lines as text. */
  text(): string {
    const { active } = this.#terminal.buffer;
    const lines: string[] = [];
    for (let at = 0; at < active.length; at++) {
      const line = active.getLine(at);
      const text = line?.translateToString(true) ?? "";
      if (line?.isWrapped === true) lines.push((lines.pop() ?? "") + text);
      else lines.push(text);
    }
    return lines.join("\n").trimEnd();
  }
}

function isBlank(cell: IBufferCell | undefined): boolean {
  return cell !== undefined && cell.getChars().trim() === "" && cell.isBgDefault();
}

type Look = Omit<Span, "text">;

function isSameLook(a: Look, b: Look): boolean {
  return a.classes === b.classes && a.color === b.color && a.background === b.background;
}

function lookOf(cell: IBufferCell, isCursor: boolean): Look {
  const isInverse = (cell.isInverse() !== 0) !== isCursor;
  const color = colorOf(cell.isFgDefault(), cell.isFgRGB(), cell.getFgColor());
  const background = colorOf(cell.isBgDefault(), cell.isBgRGB(), cell.getBgColor());
  const classes = [
    cell.isBold() ? "bold" : "",
    cell.isDim() ? "dim" : "",
    cell.isItalic() ? "italic" : "",
    cell.isUnderline() ? "underline" : "",
    isInverse ? "inverse" : "",
    color.index === undefined ? "" : `fg${color.index}`,
    background.index === undefined ? "" : `bg${background.index}`,
  ];
  return {
    classes: classes.filter((one) => one !== "").join(" "),
    ...(color.value === undefined ? {} : { color: color.value }),
    ...(background.value === undefined ? {} : { background: background.value }),
  };
}

interface Color {
  /** Of the sixteen that the stylesheet defines. */
  readonly index?: number;
  readonly value?: string;
}

function colorOf(isDefault: boolean, isRgb: boolean, code: number): Color {
  if (isDefault) return {};
  if (isRgb) return { value: `rgb(${code >> 16} ${(code >> 8) & 255} ${code & 255})` };
  if (code < 16) return { index: code };
  if (code >= 232) {
    const gray = 8 + (code - 232) * 10;
    return { value: `rgb(${gray} ${gray} ${gray})` };
  }
  const cube = code - 16;
  const level = (step: number) => (step === 0 ? 0 : 55 + step * 40);
  const parts = [Math.floor(cube / 36), Math.floor(cube / 6) % 6, cube % 6].map(level);
  return { value: `rgb(${parts.join(" ")})` };
}
