/** For tests: the kubectls of this machine, and one of them pointed at a server. */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { readdirSync, realpathSync } from "node:fs";
import { dirname, join } from "node:path";
import { executablesOnPath, findKubectl, isExecutable } from "@kcp-ts/testkit";
import { type CommandResult, collect } from "./kcp-process.ts";

export interface OtherKubectl {
  readonly path: string;
  readonly version: string;
}

/**
 * kubectls of other releases: `KUBECTL_OLD`, further ones on the path, and `kubectl.1.N` beside the
 * first.
 */
export function otherKubectls(): OtherKubectl[] {
  const first = findKubectl();
  if (first === undefined) return [];
  const folder = dirname(realpathSync(first));
  const beside = readdirSync(folder).filter((name) => /^kubectl\.?1\.\d+$/.test(name));
  const candidates = [
    process.env["KUBECTL_OLD"] ?? "",
    ...executablesOnPath("kubectl").slice(1),
    ...beside.map((name) => join(folder, name)),
  ].filter((path) => path !== "" && isExecutable(path));
  const byVersion = new Map<string, string>();
  for (const path of new Set(candidates.map((one) => realpathSync(one)))) {
    const version = versionOf(path);
    if (version !== versionOf(first) && !byVersion.has(version)) byVersion.set(version, path);
  }
  return [...byVersion].map(([version, path]) => ({ path, version }));
}

/** `v1.20.2`, say. */
function versionOf(path: string): string {
  const text = execFileSync(path, ["version", "--client", "-o", "json"], { encoding: "utf8" });
  const { clientVersion } = JSON.parse(text) as { clientVersion: { gitVersion: string } };
  return clientVersion.gitVersion;
}

export class Kubectl {
  readonly #path: string;
  readonly #cacheDirectory: string;
  readonly #flags: readonly string[];

  constructor(path: string, cacheDirectory: string, flags: readonly string[]) {
    this.#path = path;
    this.#cacheDirectory = cacheDirectory;
    this.#flags = flags;
  }

  /** N of its release 1.N. */
  get minor(): number {
    return Number(/^v1\.(\d+)/.exec(versionOf(this.#path))?.[1]);
  }

  with(...flags: readonly string[]): Kubectl {
    return new Kubectl(this.#path, this.#cacheDirectory, [...this.#flags, ...flags]);
  }

  /** What it prints; throws when it fails. */
  async run(...args: readonly string[]): Promise<string> {
    return this.#checked(args, await this.try(...args));
  }

  /** With something on its standard input. */
  async feed(input: string, ...args: readonly string[]): Promise<string> {
    const child = this.start(...args);
    const collected = collect(child);
    child.stdin?.end(input);
    return this.#checked(args, await collected);
  }

  async json<T>(...args: readonly string[]): Promise<T> {
    return JSON.parse(await this.run(...args, "-o", "json")) as T;
  }

  async try(...args: readonly string[]): Promise<CommandResult> {
    const child = this.start(...args);
    child.stdin?.end();
    return collect(child);
  }

  start(...args: readonly string[]): ChildProcess {
    const child = spawn(
      this.#path,
      ["--cache-dir", this.#cacheDirectory, ...this.#flags, ...args],
      // Nothing of the user's own settings.
      { env: { PATH: process.env["PATH"], HOME: this.#cacheDirectory } },
    );
    const onExit = () => child.kill("SIGKILL");
    process.once("exit", onExit);
    child.once("close", () => process.removeListener("exit", onExit));
    return child;
  }

  #checked(args: readonly string[], { code, stdout, stderr }: CommandResult): string {
    if (code !== 0) throw new Error(`kubectl ${args.join(" ")} ended with ${code}: ${stderr}`);
    return stdout;
  }
}
