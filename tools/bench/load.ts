/** Load: many requests of one kind, sent by a process of its own. */
import { execFile } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { programPath } from "./child.ts";

const run = promisify(execFile);

export interface Load {
  readonly url: string;
  readonly token: string;
  readonly requests: number;
  readonly connections: number;
  /** Requests in flight on each connection. */
  readonly streams: number;
  /** Posted as JSON; without it the requests are GETs. */
  readonly body?: string | undefined;
}

/** Requests per second. */
export type Generator = (load: Load) => Promise<number>;

/** h2load when it is there or can be installed, else our own. */
export async function chooseGenerator(
  asked: "h2load" | "node" | undefined,
  directory: string,
): Promise<{ readonly name: "h2load" | "node"; readonly generate: Generator }> {
  if (asked !== "node" && ((await hasH2load()) || (await installH2load())))
    return { name: "h2load", generate: (load) => h2load(load, directory) };
  if (asked === "h2load") throw new Error("h2load is not there: Debian has it in nghttp2-client");
  return { name: "node", generate: ownGenerator };
}

async function h2load(load: Load, directory: string): Promise<number> {
  const { url, token, requests, connections, streams, body } = load;
  const args = ["-n", requests, "-c", Math.min(connections, requests), "-m", streams].map(String);
  args.push("-H", `authorization: Bearer ${token}`);
  if (body !== undefined) {
    const file = join(directory, "request-body");
    writeFileSync(file, body);
    args.push("-d", file, "-H", "content-type: application/json");
  }
  const { stdout } = await run("h2load", [...args, url], { maxBuffer: 16 << 20 });
  return parseH2load(stdout, load);
}

/** It prints `finished in 1.23s, 4000.12 req/s, …` and a count of status codes. */
export function parseH2load(output: string, { requests, url }: Load): number {
  const perSecond = Number(/finished in \S+, ([\d.]+) req\/s/.exec(output)?.[1]);
  const codes = /status codes: (\d+) 2xx.*/.exec(output);
  if (Number(codes?.[1]) !== requests || Number.isNaN(perSecond))
    throw new Error(`${url}: not all of ${requests} requests went well: ${codes?.[0] ?? output}`);
  return perSecond;
}

async function ownGenerator(load: Load): Promise<number> {
  const { stdout } = await run(process.execPath, [programPath("generator"), JSON.stringify(load)]);
  return Number(stdout);
}

async function hasH2load(): Promise<boolean> {
  return succeeds("h2load", ["--version"]);
}

const installTimeoutMs = 120_000;

async function installH2load(): Promise<boolean> {
  if (process.getuid?.() !== 0) return false;
  process.stderr.write("bench: installing h2load (Debian package nghttp2-client)\n");
  const install = ["install", "-y", "--no-install-recommends", "nghttp2-client"];
  return (
    (await succeeds("apt-get", install)) ||
    ((await succeeds("apt-get", ["update"])) && (await succeeds("apt-get", install)))
  );
}

async function succeeds(command: string, args: readonly string[]): Promise<boolean> {
  return run(command, args, { timeout: installTimeoutMs }).then(
    () => true,
    () => false,
  );
}
