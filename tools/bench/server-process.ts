/** `kcp start` as users start it: the bundle, in a process and a directory of its own. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type Clock, sleep, systemClock } from "@kcp-ts/machinery/base";
import { ApiClient } from "./api-client.ts";
import { Child, programPath } from "./child.ts";
import type { LoopProbe } from "./loop-probe.ts";

export const benchToken = "bench";
/** Administrators, but none of those whom fairness exempts. */
export const attackerToken = "attacker";
export const victimToken = "victim";

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

  /** A probed one runs with `loop-probe.ts` in it. */
  static async start(
    directory: string,
    { isProbed = false, clock = systemClock }: { isProbed?: boolean; clock?: Clock } = {},
  ): Promise<ServerProcess> {
    const tokenFile = join(directory, "..", "tokens.csv");
    const neighbours = [attackerToken, victimToken].map(
      (name) => `${name},${name},${name},"system:kcp:admin"\n`,
    );
    writeFileSync(
      tokenFile,
      [`${benchToken},bench,bench,"system:masters"\n`, ...neighbours].join(""),
    );
    const startedAt = clock.monotonic();
    const given = flags(directory, tokenFile);
    const child = isProbed
      ? new Child(process.execPath, [...probed, command, ...given], {
          ...{ linesFrom: "stderr", hasMessages: true },
        })
      : new Child(command, given, { linesFrom: "stderr" });
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

  /** Only of a probed one. */
  async beginProbe(): Promise<void> {
    await this.#child.ask("begin");
  }

  /** What the probe saw since it began. */
  async readProbe(): Promise<LoopProbe> {
    return (await this.#child.ask("read")) as LoopProbe;
  }

  async stop(): Promise<void> {
    await this.#child.end("SIGTERM");
  }

  async kill(): Promise<void> {
    await this.#child.end("SIGKILL");
  }
}

/** As the first line of the command has it. */
const probed = ["--max-semi-space-size=32", "--import", programPath("loop-probe")];
const command = fileURLToPath(new URL("../../../packages/cli/bin/kcp.mjs", import.meta.url));

function flags(directory: string, tokenFile: string): string[] {
  return [
    "start",
    ...["--root-directory", directory],
    ...["--bind-address", "127.0.0.1"],
    ...["--secure-port", "0"],
    ...["--token-auth-file", tokenFile],
    ...["--log-format", "json"],
  ];
}
