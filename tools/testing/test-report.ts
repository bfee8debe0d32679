/**
 * What people read of a test run. Knows the events of Node's test runner and nothing of processes.
 */
import type { TestEvent } from "node:test/reporters";
import { inspect } from "node:util";
import { inSources, sourceLocation } from "./source-locations.ts";
import type { TestResult } from "./test-processes.ts";

export interface TestReportOptions {
  readonly print: (line: string) => void;
  readonly nameOf: (file: string) => string;
  /** The module that was started for a test file, for itself or with others. */
  readonly entryOf?: (file: string) => string;
  /** What is known of a file whose process was ended. */
  readonly verdictOn?: (file: string) => TestResult | undefined;
}

export interface ReportEnd {
  readonly missing: readonly string[];
  readonly failedSteps: readonly string[];
}

interface FileTally {
  readonly file: string;
  readonly name: string;
  tests: number;
  /**
   * Told with the file, for a run that does not come to its end, and again at the end, where people
   * look.
   */
  readonly failures: string[];
  durationMs: number;
}

type Failure = Extract<TestEvent, { type: "test:fail" }>["data"];
type Result = Extract<TestEvent, { type: "test:pass" }>["data"] | Failure;

export class TestReport {
  readonly #options: TestReportOptions;
  readonly #failures: string[] = [];
  readonly #skipped: string[] = [];
  readonly #notes: string[] = [];
  readonly #counts: string[] = [];
  /** The end of what each entry printed: shown only when one of its files fails. */
  readonly #printed = new Map<string, string>();
  /**
   * Names of the enclosing suites by nesting; Node reports a suite after its tests, but says that
   * it starts before.
   */
  readonly #path: string[] = [];
  #file: FileTally | undefined;
  #hasFailed = false;
  /**
   * Files whose processes were ended, which is nothing against their tests; Node counts each as a
   * test that failed.
   */
  #excused = 0;

  constructor(options: TestReportOptions) {
    this.#options = options;
  }

  take(event: TestEvent): void {
    switch (event.type) {
      case "test:start":
        this.#path.length = event.data.nesting;
        this.#path.push(event.data.name);
        if (event.data.nesting === 0 && event.data.file !== undefined) this.#open(event.data.file);
        break;
      case "test:pass":
        this.#count(event.data);
        break;
      case "test:fail":
        if (this.#isExcused(event.data)) break;
        this.#count(event.data);
        this.#fail(event.data);
        break;
      case "test:stdout":
      case "test:stderr":
        this.#keep(event.data.file ?? "", event.data.message);
        break;
      case "test:diagnostic":
        this.#note(event.data);
        break;
      default:
        break;
    }
  }

  /** Whether all passed. */
  end({ missing, failedSteps }: ReportEnd): boolean {
    const { print } = this.#options;
    this.#closeFile();
    section(print, "Notes", this.#notes);
    section(print, "Skipped", [...missing, ...this.#skipped]);
    section(print, "Failed", this.#failures);
    if (failedSteps.length > 0) print(`\nfailed before the tests: ${failedSteps.join(", ")}`);
    print("");
    for (const line of this.#counts) print(`# ${line}`);
    return !this.#hasFailed;
  }

  #count(data: Result): void {
    // A test in a suite names the file that declares it, which may be shared between test files.
    const tally =
      data.nesting > 0 && this.#file !== undefined ? this.#file : this.#open(data.file ?? "");
    if (data.nesting === 0) tally.durationMs += data.details.duration_ms;
    if (data.details.type !== "suite") tally.tests++;
    if (data.skip !== undefined && data.skip !== false) this.#skipped.push(this.#skip(data));
  }

  #open(file: string): FileTally {
    const name = this.#options.nameOf(file);
    if (this.#file?.name === name) return this.#file;
    this.#closeFile();
    this.#file = { file, name, tests: 0, failures: [], durationMs: 0 };
    return this.#file;
  }

  #skip(data: Result): string {
    const reason =
      typeof data.skip === "string" && data.skip !== "" ? data.skip : "no reason given";
    return `${this.#title(data)}: ${reason}`;
  }

  #keep(file: string, text: string): void {
    const kept = (this.#printed.get(file) ?? "") + text;
    this.#printed.set(file, kept.slice(-printedCharactersMax));
  }

  #fail(data: Failure): void {
    this.#hasFailed = true;
    const error = data.details.error as Error & { failureType?: string };
    // A suite fails because of its tests, which are shown.
    if (error.failureType === "subtestsFailed") return;
    const { file = "", line = 0, column = 0 } = data;
    const place = `${this.#options.nameOf(file)}:${(sourceLocation({ file, line, column }) ?? data).line ?? 0}`;
    const cause = this.#options.verdictOn?.(data.name)?.text ?? error.cause ?? error;
    const text = typeof cause === "string" ? cause : inspect(cause, { depth: 4, colors: false });
    const failure = `✖ ${this.#title(data)} (${place})\n${indented(inSources(text))}`;
    this.#failures.push(failure);
    this.#file?.failures.push(failure);
  }

  /** A file fails as a whole, under its own name, when its process does. */
  #isExcused({ name, nesting }: Failure): boolean {
    const verdict = nesting === 0 ? this.#options.verdictOn?.(name) : undefined;
    if (verdict?.isExcused !== true) return false;
    this.#excused++;
    this.#notes.push(`${this.#options.nameOf(name)}: ${verdict.text}`);
    return true;
  }

  #note({ nesting, message }: { readonly nesting: number; readonly message: string }): void {
    if (nesting === 0 && countPattern.test(message)) this.#counts.push(this.#corrected(message));
    else this.#notes.push(`${this.#path.at(-1) ?? ""}: ${message}`);
  }

  #corrected(count: string): string {
    return count.replace(/^(tests|fail) (\d+)$/, (_, what, of) => `${what} ${of - this.#excused}`);
  }

  #title(data: Result): string {
    return [...this.#path.slice(0, data.nesting), data.name].join(" › ");
  }

  #closeFile(): void {
    if (this.#file === undefined) return;
    const { file, name, tests, failures, durationMs } = this.#file;
    const failed = failures.length;
    const seconds = (durationMs / 1000).toFixed(1);
    const outcome = failed === 0 ? `${tests} run` : `${tests} run, ${failed} failed`;
    this.#options.print(`${failed === 0 ? "✔" : "✖"} ${name} (${outcome}, ${seconds} s)`);
    for (const failure of failures) this.#options.print(indented(failure));
    const printed = this.#printed.get(this.#options.entryOf?.(file) ?? file);
    if (failed > 0 && printed !== undefined)
      this.#options.print(indented(inSources(printed.trimEnd())));
    this.#file = undefined;
  }
}

const printedCharactersMax = 8000;
const countPattern = /^(tests|suites|pass|fail|cancelled|skipped|todo|duration_ms) [\d.]+$/;

function section(print: (line: string) => void, title: string, lines: readonly string[]): void {
  if (lines.length === 0) return;
  print(`\n${title}:`);
  for (const line of lines) print(indented(line));
}

function indented(text: string): string {
  return text.replaceAll(/^(?=.)/gm, "  ");
}
