/**
 * An ApiServer on a memory store, called in process: real authentication by token, administrators
 * through the bootstrap authorizer, and tenants with all permissions in their own logical cluster
 * and none in others.
 */
import type { Clock } from "@kcp-ts/machinery/base";
import {
  adminTokens,
  BearerTokenAuthenticator,
  hashToken,
  RequestAuthenticator,
  StaticTokenAuthenticator,
} from "../authentication/index.ts";
import { type Authorizer, bootstrapAuthorizer, unionAuthorizer } from "../authorization/index.ts";
import type { ServerExtension } from "../extension.ts";
import { type ApiRequest, type ApiResponse, sentHeaders } from "../request/api-request.ts";
import { ApiServer, type ApiServerOptions } from "../server.ts";
import type { ServerLog } from "../server-log.ts";
import type { Storage } from "../storage/index.ts";
import { MemoryStorage } from "../storage/memory/index.ts";
import { FakeClock } from "./fake-clock.ts";
import { SeededRandom } from "./seeded-random.ts";
import { WatchReader } from "./watch-reader.ts";

/**
 * `admin` is kcp-admin, `masters` the shard's; `a` and `b` own a logical cluster each; `anonymous`
 * sends no token.
 */
export type TestUser = "admin" | "masters" | "a" | "b" | "nobody" | "anonymous";

export interface RequestOptions {
  /** An object is sent as JSON; text and bytes unchanged. */
  readonly body?: object | string | Uint8Array | undefined;
  readonly headers?: Readonly<Record<string, string>>;
  readonly user?: TestUser;
  readonly signal?: AbortSignal;
}

export interface TestServerOptions<Extension extends ServerExtension = ServerExtension>
  extends Partial<Omit<ApiServerOptions<Extension>, "clock" | "storage" | "log">> {
  readonly storage?: Storage;
}

/** The members of objects, lists and Statuses that tests read. */
export interface AnyObject {
  readonly kind?: string;
  readonly apiVersion?: string;
  readonly metadata: AnyMetadata;
  readonly data?: Readonly<Record<string, string>>;
  readonly items?: readonly AnyObject[];
  readonly message?: string;
  readonly reason?: string;
  readonly code?: number;
  readonly details?: Readonly<Record<string, unknown>>;
  readonly [member: string]: unknown;
}

export interface AnyMetadata {
  readonly name?: string;
  readonly namespace?: string;
  readonly uid?: string;
  readonly resourceVersion?: string;
  readonly continue?: string;
  readonly remainingItemCount?: number;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly [member: string]: unknown;
}

export class TestResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[]>>;
  readonly bytes: Buffer;

  constructor({ status, headers }: ApiResponse, bytes: Buffer) {
    this.status = status;
    this.headers = sentHeaders(headers);
    this.bytes = bytes;
  }

  get text(): string {
    return this.bytes.toString("utf8");
  }

  get object(): AnyObject {
    return JSON.parse(this.text) as AnyObject;
  }

  get items(): readonly AnyObject[] {
    return this.object.items ?? [];
  }

  get names(): string[] {
    return this.items.map(({ metadata }) => metadata.name ?? "");
  }

  get warnings(): string[] {
    const { warning } = this.headers;
    return typeof warning === "string" ? [warning] : (warning ?? []);
  }
}

export class TestServer<Extension extends ServerExtension = ServerExtension> {
  readonly server: ApiServer<Extension>;
  readonly storage: Storage;
  readonly clock: FakeClock;
  readonly logged: LogLine[];

  private constructor(
    server: ApiServer<Extension>,
    storage: Storage,
    clock: FakeClock,
    logged: LogLine[],
  ) {
    this.server = server;
    this.storage = storage;
    this.clock = clock;
    this.logged = logged;
  }

  static async start<Extension extends ServerExtension = ServerExtension>(
    options: TestServerOptions<Extension> = {},
  ): Promise<TestServer<Extension>> {
    const storage = options.storage ?? new MemoryStorage();
    const clock = new FakeClock();
    const logged: LogLine[] = [];
    const server = new ApiServer<Extension>({
      random: new SeededRandom(1),
      authenticator: testAuthenticator(),
      authorization: (rbac) => unionAuthorizer([bootstrapAuthorizer, rbac, ownCluster]),
      ...options,
      storage,
      clock: clock satisfies Clock,
      log: recordingLog(logged),
    });
    await server.start();
    return new TestServer(server, storage, clock, logged);
  }

  async request(
    method: string,
    target: string,
    options: RequestOptions = {},
  ): Promise<TestResponse> {
    const response = await this.server.handle(apiRequest(method, target, options));
    return new TestResponse(response, await readAll(response.body));
  }

  get(target: string, options: RequestOptions = {}): Promise<TestResponse> {
    return this.request("GET", target, options);
  }

  /** Like `request`, but an error response fails the test. */
  async requestOk(
    method: string,
    target: string,
    options: RequestOptions = {},
  ): Promise<AnyObject> {
    const answer = await this.request(method, target, options);
    if (answer.status >= 400) throw new Error(`${method} ${target}: ${answer.text}`);
    return answer.object;
  }

  patch(target: string, type: PatchType, body: object, options: RequestOptions = {}) {
    const headers = { "content-type": patchTypes[type], ...options.headers };
    return this.request("PATCH", target, { ...options, headers, body });
  }

  async watch(target: string, options: RequestOptions = {}): Promise<WatchReader> {
    const leaving = new AbortController();
    const signal =
      options.signal === undefined
        ? leaving.signal
        : AbortSignal.any([options.signal, leaving.signal]);
    const response = await this.server.handle(apiRequest("GET", target, { ...options, signal }));
    if (response.isWatch !== true || response.status !== 200) {
      throw new Error(`${target} is no watch: ${(await readAll(response.body)).toString("utf8")}`);
    }
    return new WatchReader(response.body as AsyncIterable<Uint8Array>, leaving);
  }

  async close(): Promise<void> {
    await this.server.close();
    await this.storage.close();
  }
}

/** The usual authorization, but always asynchronous. */
export function withSlowAuthorization(rbac: Authorizer): Authorizer {
  const inner = unionAuthorizer([bootstrapAuthorizer, rbac, ownCluster]);
  return {
    async authorize(attributes) {
      await new Promise((resolve) => setImmediate(resolve));
      return inner.authorize(attributes);
    },
  };
}

export type PatchType = "json" | "merge" | "strategic" | "apply";

const patchTypes: Readonly<Record<PatchType, string>> = {
  json: "application/json-patch+json",
  merge: "application/merge-patch+json",
  strategic: "application/strategic-merge-patch+json",
  apply: "application/apply-patch+yaml",
};

export interface LogLine {
  readonly level: "debug" | "info" | "warn" | "error";
  readonly message: string;
  readonly fields: object;
}

function recordingLog(lines: LogLine[]): ServerLog {
  const at = (level: LogLine["level"]) => (fields: object, message: string) => {
    if (level !== "debug") lines.push({ level, message, fields });
  };
  return {
    debug: at("debug"),
    info: at("info"),
    warn: at("warn"),
    error: at("error"),
    isDebugEnabled: true,
  };
}

const tokenOf = (user: TestUser) => `token-of-${user}`;

export function authorizationOf(user: TestUser): Record<string, string> {
  return user === "anonymous" ? {} : { authorization: `Bearer ${tokenOf(user)}` };
}

export function testAuthenticator(): RequestAuthenticator {
  return new RequestAuthenticator({
    authenticators: [new BearerTokenAuthenticator([testTokens()])],
    anonymous: true,
  });
}

/** The tokens of the users above. */
export function testTokens(): StaticTokenAuthenticator {
  const tenant = (username: TestUser) => ({
    tokenHash: hashToken(tokenOf(username)),
    user: { username, groups: [] },
  });
  return new StaticTokenAuthenticator([
    ...adminTokens({
      adminTokenHash: hashToken(tokenOf("admin")),
      shardAdminTokenHash: hashToken(tokenOf("masters")),
    }),
    tenant("a"),
    tenant("b"),
    tenant("nobody"),
  ]);
}

/** A user with the name of a logical cluster has all permissions in it. */
export const ownCluster: Authorizer = {
  authorize: ({ user, cluster }) =>
    user.username === cluster ? { allowed: true, reason: "owner" } : { allowed: false, reason: "" },
};

function apiRequest(method: string, target: string, options: RequestOptions): ApiRequest {
  const { body, headers = {}, user = "admin", signal } = options;
  const bytes =
    body === undefined
      ? Buffer.alloc(0)
      : typeof body === "string" || body instanceof Uint8Array
        ? Buffer.from(body as string)
        : Buffer.from(JSON.stringify(body));
  return {
    method,
    target,
    headers: { ...authorizationOf(user), ...headers },
    remoteAddress: "127.0.0.1",
    clientCertificate: undefined,
    onClose: (callback) => {
      if (signal?.aborted) callback();
      signal?.addEventListener("abort", callback, { once: true });
    },
    readBody: async () => bytes,
  };
}

async function readAll(body: ApiResponse["body"]): Promise<Buffer> {
  if (body === undefined) return Buffer.alloc(0);
  if (body instanceof Uint8Array) return Buffer.from(body);
  const parts: Uint8Array[] = [];
  for await (const part of body) parts.push(part);
  return Buffer.concat(parts);
}
