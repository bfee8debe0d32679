/**
 * LogBackend writes events as lines of JSON into a file that is rotated when it is full, or to
 * stdout.
 *
 * Lines are collected and written together; lines that exceed the buffer while the disk is slow or
 * full are dropped and counted. Requests wait for their lines (`blocking`, Kubernetes' default), or
 * never do (`batch`).
 */
import { mkdir, open, readdir, rename, stat, unlink } from "node:fs/promises";
import { basename, dirname, extname, join } from "node:path";
import type { Clock } from "@kcp-ts/machinery/base";
import type { JsonObject } from "@kcp-ts/machinery/json";
import type { AuditBackend } from "./audit.ts";
import { encodeEvent, type LossObserver } from "./encode-event.ts";

export interface LogBackendOptions extends LossObserver {
  readonly path: string;
  readonly clock: Clock;
  /** A larger file is rotated; 0 disables rotation. */
  readonly sizeMaxBytes: number;
  /** The number of rotated files to keep; 0 keeps all. */
  readonly backupsMax: number;
  /** Older rotated files are deleted; 0 keeps all. */
  readonly ageMaxDays: number;
  readonly bufferBytesMax?: number;
  /** Whether a response waits until its event is written. */
  readonly isBlocking?: boolean;
}

export const logBufferBytesMax = 16 << 20;
const pieceLength = 1 << 20;
const dayMs = 24 * 3_600_000;

export class LogBackend implements AuditBackend {
  readonly name = "log";
  readonly #options: LogBackendOptions;
  #lines: string[] = [];
  #bytes = 0;
  /** The number of accepted lines, and of lines that were written or given up. */
  #acceptedLines = 0;
  #done = 0;
  readonly #waiting: { readonly until: number; readonly resolve: () => void }[] = [];
  #writing: Promise<void> | undefined;
  #sizeBytes: number | undefined;

  constructor(options: LogBackendOptions) {
    this.#options = options;
  }

  write(event: JsonObject, text?: string): Promise<void> | undefined {
    const encoded = text ?? encodeEvent(event, this.#options);
    if (encoded === undefined) return undefined;
    const line = `${encoded}\n`;
    if (this.#bytes + line.length > (this.#options.bufferBytesMax ?? logBufferBytesMax)) {
      this.#options.onDropped(1);
      return undefined;
    }
    this.#lines.push(line);
    this.#bytes += line.length;
    const until = ++this.#acceptedLines;
    this.#writing ??= this.#drain();
    if (this.#options.isBlocking !== true) return undefined;
    return new Promise<void>((resolve) => this.#waiting.push({ until, resolve }));
  }

  async close(): Promise<void> {
    await this.#writing;
  }

  async #drain(): Promise<void> {
    // Lines of the same turn are written together.
    await new Promise<void>((resolve) => setImmediate(resolve));
    while (this.#lines.length > 0) {
      const lines = this.#nextWrite();
      try {
        await this.#append(Buffer.from(lines.join("")));
      } catch (error) {
        this.#options.onError(error);
        this.#options.onDropped(lines.length);
      }
      this.#bytes -= lines.reduce((sum, line) => sum + line.length, 0);
      this.#done += lines.length;
      this.#wake();
    }
    this.#writing = undefined;
  }

  #wake(): void {
    let count = 0;
    while (count < this.#waiting.length && (this.#waiting[count]?.until ?? 0) <= this.#done)
      count++;
    for (const { resolve } of this.#waiting.splice(0, count)) resolve();
  }

  /** The oldest lines, as many as can be joined and encoded without blocking other requests. */
  #nextWrite(): string[] {
    let count = 0;
    for (let length = 0; count < this.#lines.length && length < pieceLength; count++)
      length += (this.#lines[count] as string).length;
    return this.#lines.splice(0, count);
  }

  async #append(bytes: Buffer): Promise<void> {
    const { path, sizeMaxBytes } = this.#options;
    if (path === "-") {
      await new Promise<void>((resolve) => process.stdout.write(bytes, () => resolve()));
      return;
    }
    this.#sizeBytes ??= await sizeOf(path);
    if (sizeMaxBytes > 0 && this.#sizeBytes > 0 && this.#sizeBytes + bytes.length > sizeMaxBytes)
      await this.#rotate();
    const file = await open(path, "a", 0o600);
    try {
      await file.writeFile(bytes);
    } finally {
      await file.close();
    }
    this.#sizeBytes = (this.#sizeBytes ?? 0) + bytes.length;
  }

  /** `audit.log` becomes `audit-2026-11-15T10-00-00.000.log`, as lumberjack names it. */
  async #rotate(): Promise<void> {
    const { path, clock, backupsMax, ageMaxDays } = this.#options;
    const extension = extname(path);
    const stem = basename(path, extension);
    const nowMs = clock.now();
    const time = new Date(nowMs).toISOString().replaceAll(":", "-").replace("Z", "");
    await rename(path, join(dirname(path), `${stem}-${time}${extension}`));
    this.#sizeBytes = 0;
    const old = (await readdir(dirname(path)))
      .filter((name) => name.startsWith(`${stem}-`) && name.endsWith(extension))
      .filter((name) => timeOf(name, stem) !== undefined)
      .sort()
      .reverse();
    const isOver = (name: string, at: number) =>
      (backupsMax > 0 && at >= backupsMax) ||
      (ageMaxDays > 0 && nowMs - (timeOf(name, stem) ?? nowMs) > ageMaxDays * dayMs);
    for (const name of old.filter(isOver)) await unlink(join(dirname(path), name));
  }
}

/** Undefined for files that are not rotated logs. */
function timeOf(name: string, stem: string): number | undefined {
  const match = /^(\d{4}-\d\d-\d\d)T(\d\d)-(\d\d)-(\d\d\.\d{3})/.exec(name.slice(stem.length + 1));
  if (match === null) return undefined;
  return Date.parse(`${match[1]}T${match[2]}:${match[3]}:${match[4]}Z`);
}

async function sizeOf(path: string): Promise<number> {
  await mkdir(dirname(path), { recursive: true });
  try {
    return (await stat(path)).size;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return 0;
    throw error;
  }
}
