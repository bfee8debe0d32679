/** What happened in a system, in order, as one digest; and the last lines of it, for people. */
import { createHash } from "node:crypto";

export interface TraceOptions {
  readonly print?: ((line: string) => void) | undefined;
}

export class Trace {
  readonly #digest = createHash("sha256");
  readonly #print: ((line: string) => void) | undefined;

  constructor({ print }: TraceOptions = {}) {
    this.#print = print;
  }

  /** Everything that goes in here is decided by the seed. */
  note(atMs: number, who: string, what: string, value: string | Uint8Array): void {
    this.#digest.update(`${atMs} ${who} ${what}\n`).update(value);
    if (this.#print === undefined) return;
    const shown = typeof value === "string" ? value : `${value.length} bytes`;
    this.#print(`${String(atMs).padStart(8)} ${who} ${what} ${shown}`);
  }

  /** Messages of the program: their texts may name files of the machine. */
  log(atMs: number, text: string, detail: unknown): void {
    if (this.#print === undefined) return;
    const shown =
      detail instanceof Error ? (detail.stack ?? detail.message) : JSON.stringify(detail);
    this.#print(`${String(atMs).padStart(8)} ${text}: ${shown}`);
  }

  get digest(): string {
    return this.#digest.copy().digest("hex").slice(0, 16);
  }
}
