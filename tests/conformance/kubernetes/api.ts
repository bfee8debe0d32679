/** For tests: one logical cluster of a test control plane, by the requests that a client sends. */
import assert from "node:assert/strict";
import type { Transport, TransportRequest } from "@kcp-ts/sdk/client";
import { eventually } from "@kcp-ts/testkit";

/** An object, a list or a Status, as far as tests look into it. */
export interface ResponseObject {
  readonly metadata: {
    readonly name: string;
    readonly resourceVersion?: string;
    readonly uid?: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
    readonly [member: string]: unknown;
  };
  readonly message?: string;
  readonly reason?: string;
  readonly data?: Readonly<Record<string, string>>;
  readonly items?: readonly ResponseObject[];
  // biome-ignore lint/suspicious/noExplicitAny: tests reach into whatever the server answered.
  readonly [member: string]: any;
}

export interface ApiReply {
  readonly status: number;
  readonly object: ResponseObject;
  readonly headers: ReadonlyMap<string, string>;
}

export interface WatchedEvent {
  readonly type: string;
  readonly object: ResponseObject;
}

export const mergePatch = "application/merge-patch+json";
export const strategicMergePatch = "application/strategic-merge-patch+json";
export const applyPatch = "application/apply-patch+yaml";

const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

export class Api {
  readonly #transport: Transport;
  readonly #prefix: string;

  /** Requests go to paths behind the prefix. */
  constructor(transport: Transport, prefix: string) {
    this.#transport = transport;
    this.#prefix = prefix;
  }

  async send(
    method: string,
    path: string,
    body?: object | string,
    type = "application/json",
    headers: Readonly<Record<string, string>> = {},
  ): Promise<ApiReply> {
    const response = await this.#transport.send({
      method: method as TransportRequest["method"],
      path: this.#prefix + path,
      headers: body === undefined ? headers : { "content-type": type, ...headers },
      ...(body === undefined
        ? {}
        : { body: typeof body === "string" ? body : JSON.stringify(body) }),
    });
    const object = JSON.parse(await response.body.text()) as ResponseObject;
    const names = ["content-type", "warning"] as const;
    const received = names.map((name) => [name, String(response.headers[name] ?? "")] as const);
    return { status: response.status, object, headers: new Map(received) };
  }

  /** Like `send`, but a refusal fails the test. */
  async expectSuccess(...request: Parameters<Api["send"]>): Promise<ResponseObject> {
    const { status, object } = await this.send(...request);
    assert.ok(status < 300, `${request[0]} ${request[1]}: ${status} ${object.message}`);
    return object;
  }

  /** Refused, and the message matches. */
  async expectError(says: RegExp, ...request: Parameters<Api["send"]>): Promise<ApiReply> {
    const reply = await this.send(...request);
    assert.ok(reply.status >= 400, `${request[0]} ${request[1]}: ${reply.status}`);
    assert.match(reply.object.message ?? "", says);
    return reply;
  }

  merge(path: string, patch: object): Promise<ResponseObject> {
    return this.expectSuccess("PATCH", path, patch, mergePatch);
  }

  async names(path: string): Promise<readonly string[]> {
    const { items = [] } = await this.expectSuccess("GET", path);
    return items.map(({ metadata }) => metadata.name);
  }

  /** Opens a watch; `next` waits for its next event that is no bookmark, `close` ends it. */
  async watch(path: string) {
    const leaving = new AbortController();
    const { signal } = leaving;
    const target = `${this.#prefix}${path}${path.includes("?") ? "&" : "?"}watch=true`;
    const response = await this.#transport.send({
      method: "GET",
      path: target,
      headers: {},
      signal,
    });
    assert.equal(response.status, 200, path);
    const events = eventsIn(response.body as AsyncIterable<Uint8Array>);
    return {
      next: async () => (await events.next()).value as WatchedEvent,
      close: () => leaving.abort(),
    };
  }

  /** Installs a definition, until it is served. */
  async install(definition: {
    readonly metadata: { readonly name: string; readonly labels?: object };
  }): Promise<string> {
    await this.expectSuccess("POST", definitions, definition);
    const path = `${definitions}/${definition.metadata.name}`;
    await eventually(async () => {
      const { status } = await this.expectSuccess("GET", path);
      assert.match(JSON.stringify(status), /"type":"Established","status":"True"/);
    });
    return path;
  }
}

async function* eventsIn(body: AsyncIterable<Uint8Array>): AsyncGenerator<WatchedEvent> {
  let text = "";
  for await (const chunk of body) {
    const lines = (text + Buffer.from(chunk).toString("utf8")).split("\n");
    text = lines.pop() ?? "";
    for (const line of lines) if (line !== "") yield JSON.parse(line) as WatchedEvent;
  }
}
