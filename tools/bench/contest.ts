/**
 * Who takes part in the HTTP rows: our server, other targets of the command line, and the bare
 * server beside them.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ApiClient } from "./api-client.ts";
import { type Child, startProgram } from "./child.ts";
import type { Generator, Load } from "./load.ts";
import { type Contender, interleaved, type Measured } from "./measure.ts";
import { configMap, configMapsPath, namespace } from "./objects.ts";
import type { BenchOptions } from "./options.ts";
import type { Report } from "./report.ts";
import { benchToken, ServerProcess } from "./server-process.ts";

export interface Bench {
  readonly options: BenchOptions;
  readonly generate: Generator;
  /** Everything that is written is written here. */
  readonly directory: string;
  readonly report: Report;
}

export interface Contestant {
  readonly name: string;
  readonly url: string;
  /**
   * Where lists are measured: ours in a logical cluster that nothing else is written to, because a
   * cluster's collection is one.
   */
  readonly listUrl: string;
  readonly token: string;
  readonly pid?: number | undefined;
  readonly client: ApiClient;
}

/** How the requests of a row are sent; 64 in flight come over 8 connections. */
export type Shape = Omit<Load, "url" | "token" | "body">;

/** See bare-http.ts. */
export type BareApi = "requests" | "streams";

interface BareServer {
  readonly child: Child;
  readonly url: string;
}

/** With the certificate of ours: what a handshake and a record cost is the same, too. */
async function startBare(root: string, folder: string, api: BareApi): Promise<BareServer> {
  const pair = [join(root, "apiserver.crt"), join(root, "apiserver.key")];
  const child = startProgram("bare-http", [...pair, folder, api]);
  return { child, url: await child.line() };
}

export const benchNamespace = `bench-${process.pid}`;

export class Contest {
  readonly kcp: Contestant;
  /** Everybody who serves the Kubernetes API, ours first. */
  readonly contestants: readonly Contestant[];
  readonly #bench: Bench;
  readonly #server: ServerProcess;
  readonly #bare: Readonly<Record<BareApi, BareServer>>;
  readonly #bareFolder: string;

  private constructor(
    bench: Bench,
    server: ServerProcess,
    bare: Readonly<Record<BareApi, BareServer>>,
    bareFolder: string,
  ) {
    const kcp = { name: "kcp", url: `${server.url}/clusters/bench`, token: benchToken };
    this.#bench = bench;
    this.#server = server;
    this.#bare = bare;
    this.#bareFolder = bareFolder;
    const listUrl = `${server.url}/clusters/bench-lists`;
    this.kcp = { ...kcp, listUrl, pid: server.pid, client: new ApiClient(kcp) };
    const others = bench.options.targets.map((target) => ({
      ...target,
      listUrl: target.url,
      client: new ApiClient(target),
    }));
    this.contestants = [this.kcp, ...others];
  }

  static async open(bench: Bench): Promise<Contest> {
    const root = join(bench.directory, "contest");
    const folder = join(bench.directory, "bodies");
    mkdirSync(folder);
    const server = await ServerProcess.start(root);
    const bare = {
      requests: await startBare(root, folder, "requests"),
      streams: await startBare(root, folder, "streams"),
    };
    const contest = new Contest(bench, server, bare, folder);
    for (const { client } of contest.contestants) {
      await client.must("POST", "/api/v1/namespaces", namespace(benchNamespace));
      await client.must("POST", configMapsPath(benchNamespace), configMap("one"));
    }
    await contest.giveBare("one", `${configMapsPath(benchNamespace)}/one`);
    return contest;
  }

  /** The bare server answers `/<name>` with what ours answers for a path, byte for byte. */
  async giveBare(name: string, path: string, client = this.kcp.client): Promise<void> {
    writeFileSync(this.bodyFile(name), await client.must("GET", path));
  }

  bodyFile(name: string): string {
    return join(this.#bareFolder, name);
  }

  /** The same requests to everybody. */
  requests(path: string, shape: Shape, body?: string): Contender[] {
    return this.contestants.map(({ name, url, token, pid }) => ({
      name,
      pid,
      round: () => this.#round({ url: url + path, token, body, ...shape }),
    }));
  }

  lists(path: string, shape: Shape): Contender[] {
    return this.contestants.map(({ name, listUrl, token, pid }) => ({
      name,
      pid,
      round: () => this.#round({ url: listUrl + path, token, ...shape }),
    }));
  }

  bareRequests(
    name: string,
    path: string,
    shape: Shape,
    { body, api = "requests" }: { readonly body?: string; readonly api?: BareApi } = {},
  ): Contender {
    const { child, url } = this.#bare[api];
    return {
      name,
      pid: child.pid,
      round: () => this.#round({ url: url + path, token: "", body, ...shape }),
    };
  }

  measure(contenders: readonly Contender[]): Promise<Measured[]> {
    const { rounds, sizes } = this.#bench.options;
    return interleaved(contenders, { rounds, warmUps: sizes.warmUps });
  }

  async close(): Promise<void> {
    for (const { client } of this.contestants) client.close();
    for (const { child } of Object.values(this.#bare)) await child.end();
    await this.#server.stop();
  }

  async #round(load: Load) {
    return { perSecond: await this.#bench.generate(load), count: load.requests };
  }
}
