/** `kcp start` as users start it: the bundle, in a process and a directory of its own. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type Clock, sleep, systemClock } from "@kcp-ts/machinery/base";
import { ApiClient } from "./api-client.ts";
import { Child, type ChildOptions, type ProcessRole, programPath } from "./child.ts";

export const benchToken = "bench";
/** Administrators, but none of those whom fairness exempts. */
export const attackerToken = "attacker";
export const victimToken = "victim";
/** Somebody without any rights but those that roles give. */
export const memberToken = "member";

/** Measures single requests of the red team. */
export const requestProbe = "redteam-probe";

export interface ServerProcessOptions {
  readonly clock?: Clock;
  /** A program of this folder that runs inside the server and listens to what it is told. */
  readonly preload?: string;
  readonly side?: ProcessRole;
  /** Further flags of `kcp start`. */
  readonly flags?: readonly string[];
}

export class ServerProcess {
  readonly #child: Child;
  readonly url: string;
  /** From spawning the process until its readyz said ok. */
  readonly readyMs: number;

  private constructor(child: Child, url: string, readyMs: number) {
    this.#child = child;
    this.url = url;
    this.readyMs = readyMs;
  }

  static async start(
    directory: string,
    { clock = systemClock, preload, side, flags = [] }: ServerProcessOptions = {},
  ): Promise<ServerProcess> {
    const tokenFile = join(directory, "..", "tokens.csv");
    const neighbours = [attackerToken, victimToken].map(
      (name) => `${name},${name},${name},"system:kcp:admin"\n`,
    );
    writeFileSync(
      tokenFile,
      [
        `${benchToken},bench,bench,"system:masters"\n`,
        `${memberToken},${memberToken},${memberToken}\n`,
        ...neighbours,
      ].join(""),
    );
    const startedAt = clock.monotonic();
    const args = [...startFlags(directory, tokenFile), ...flags];
    const where: ChildOptions = { linesFrom: "stderr", ...(side === undefined ? {} : { side }) };
    const child =
      preload === undefined
        ? new Child(command, args, where)
        : new Child("env", [...interpreter(), ...preloading(preload), command, ...args], {
            ...where,
            hasInput: true,
          });
    const { url } = JSON.parse(await child.line('"kcp is ready"')) as { url: string };
    const client = new ApiClient({ url, token: benchToken });
    while ((await client.status("GET", "/readyz")) !== 200) await sleep(clock, 5);
    const readyMs = clock.monotonic() - startedAt;
    client.close();
    return new ServerProcess(child, url, readyMs);
  }

  get pid(): number {
    return this.#child.pid;
  }

  /** To the preloaded program. */
  say(line: string): void {
    this.#child.say(line);
  }

  line(text: string): Promise<string> {
    return this.#child.line(text);
  }

  async stop(): Promise<void> {
    await this.#child.end("SIGTERM");
  }

  async kill(): Promise<void> {
    await this.#child.end("SIGKILL");
  }
}

const command = fileURLToPath(new URL("../../../packages/cli/bin/kcp.mjs", import.meta.url));

/** The environment and flags that the first line of the command gives Node. */
function interpreter(): string[] {
  const firstLine = readFileSync(command, "utf8").split("\n", 1)[0] ?? "";
  const words = /^#!\/usr\/bin\/env -S (.+)$/.exec(firstLine)?.[1]?.split(" ");
  if (words === undefined) throw new Error(`${command} does not say how it is run`);
  return words.map((word) => (word === "node" ? process.execPath : word));
}

function preloading(program: string): string[] {
  return ["--expose-gc", "--import", programPath(program)];
}

function startFlags(directory: string, tokenFile: string): string[] {
  return [
    "start",
    ...["--root-directory", directory],
    ...["--bind-address", "127.0.0.1"],
    ...["--secure-port", "0"],
    ...["--token-auth-file", tokenFile],
    ...["--log-format", "json"],
  ];
}
