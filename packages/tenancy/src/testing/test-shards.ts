/**
 * Several shards in one process, connected without sockets: each is a server with a store of its
 * own, and any of them serves requests for all.
 */
import { type Duplex, duplexPair } from "node:stream";
import {
  flushPendingWork,
  TestServer as PlainTestServer,
  type TestServerOptions as PlainTestServerOptions,
} from "@kcp-ts/apiserver/testing";
import {
  type TenancyExtension,
  type TenancyExtensionOptions,
  tenancy,
} from "../tenancy-extension.ts";

export interface TestShardsOptions {
  /** One of them is `root`. */
  readonly names: readonly string[];
  readonly server?: Omit<PlainTestServerOptions<TenancyExtension>, "extension">;
  readonly tenancy?: Omit<TenancyExtensionOptions, "shards">;
  /** See `ShardOptions`. */
  readonly readsEndMs?: number;
  /** Bootstraps every shard, root first; true if omitted. */
  readonly bootstrap?: boolean;
}

type Server = PlainTestServer<TenancyExtension>;

const turnsMax = 600;

export const testExternalUrl = "https://kcp.example.com:6443";

export class TestShards {
  readonly #options: TestShardsOptions;
  readonly #servers = new Map<string, Server>();
  /** The names of shards that nobody reaches. */
  readonly #down = new Set<string>();
  readonly #links = new Map<string, Set<Duplex>>();

  private constructor(options: TestShardsOptions) {
    this.#options = options;
  }

  static async start(options: TestShardsOptions): Promise<TestShards> {
    const shards = new TestShards(options);
    for (const name of options.names) await shards.restart(name);
    return shards;
  }

  get(name: string): Server {
    const server = this.#servers.get(name);
    if (server === undefined) throw new Error(`the shard ${name} does not run`);
    return server;
  }

  /** Starts a shard; with its store, when it ran before. */
  async restart(name: string): Promise<Server> {
    const { names, tenancy: more, server: options = {}, bootstrap = true } = this.#options;
    const { readsEndMs } = this.#options;
    const storage = this.#servers.get(name)?.storage;
    const network = {
      names: () => names.filter((one) => one !== name),
      connect: async (to: string) => this.#connect(name, to),
    };
    const server = await PlainTestServer.start<TenancyExtension>({
      ...options,
      ...(storage === undefined ? {} : { storage }),
      extension: tenancy({ ...more, shards: { name, network, readsEndMs } }),
    });
    this.#servers.set(name, server);
    this.#down.delete(name);
    if (bootstrap) await server.server.bootstrap(testExternalUrl);
    return server;
  }

  /** Nobody reaches the shard until `connect`; its connections end. */
  disconnect(name: string): void {
    this.#down.add(name);
    for (const connection of this.#links.get(name) ?? []) connection.destroy();
  }

  /** What is sent to the shard from now on arrives when the returned function is called. */
  stall(name: string): () => void {
    const ends = [...(this.#links.get(name) ?? [])];
    for (const connection of ends) connection.pause();
    return () => {
      for (const connection of ends) connection.resume();
    };
  }

  connect(name: string): void {
    this.#down.delete(name);
  }

  /** The shard ends as a process that stops; its store stays. */
  async stop(name: string): Promise<void> {
    this.disconnect(name);
    await this.get(name).server.close();
  }

  /** Waits, while time advances on every shard, until a write has had its effect. */
  async until(what: string, isSo: () => Promise<boolean>): Promise<void> {
    for (let turn = 0; turn < turnsMax; turn++) {
      if (await isSo()) return;
      for (const server of this.#servers.values()) {
        await flushPendingWork(server);
        server.clock.advance(100);
      }
    }
    throw new Error(`it never came to pass that ${what}`);
  }

  async close(): Promise<void> {
    for (const [name, server] of this.#servers) {
      this.disconnect(name);
      await server.close();
    }
  }

  #connect(from: string, to: string): Duplex {
    if (this.#down.has(to) || this.#down.has(from) || !this.#servers.has(to))
      throw Object.assign(new Error(`${to} is down`), { code: "ECONNREFUSED" });
    const [near, far] = duplexPair();
    for (const name of [from, to]) {
      const links = this.#links.get(name) ?? new Set();
      this.#links.set(name, links);
      for (const end of [near, far]) {
        links.add(end);
        end.once("close", () => links.delete(end));
      }
    }
    this.get(to).server.extension.serveShard(far, from);
    return near;
  }
}

export function startTestShards(options: TestShardsOptions): Promise<TestShards> {
  return TestShards.start(options);
}
