/**
 * For tests: requests as they are on the wire, by any user, and what is commonly made by them to
 * share an API.
 */
import assert from "node:assert/strict";
import type { UserInfo } from "@kcp-ts/apiserver";
import type { TransportRequest } from "@kcp-ts/sdk/client";
import type { TestControlPlane } from "@kcp-ts/testing/internal";

/** What tests look at in objects, lists and Statuses alike. */
export interface AnyResponse {
  readonly metadata: {
    readonly name: string;
    readonly resourceVersion?: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly [member: string]: unknown;
  };
  readonly items?: readonly AnyResponse[];
  readonly message?: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests reach into whatever they were answered.
  readonly [member: string]: any;
}

export interface RequestResult {
  readonly status: number;
  readonly body: AnyResponse;
}

export class WorkspaceRequests {
  readonly #plane: TestControlPlane;

  constructor(plane: TestControlPlane) {
    this.#plane = plane;
  }

  async request(
    user: UserInfo,
    method: TransportRequest["method"],
    path: string,
    body?: object,
  ): Promise<RequestResult> {
    const { transport } = this.#plane.clientFor("root", user);
    const type = method === "PATCH" ? "application/merge-patch+json" : "application/json";
    const response = await transport.send({
      method,
      path,
      headers: body === undefined ? {} : { "content-type": type },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.body.text();
    return { status: response.status, body: JSON.parse(text === "" ? "{}" : text) as AnyResponse };
  }

  /** Like `ask`, but a refusal is an error of the test. */
  async expectSuccess(
    user: UserInfo,
    method: TransportRequest["method"],
    path: string,
    body?: object,
  ): Promise<AnyResponse> {
    const asked = await this.request(user, method, path, body);
    assert.ok(asked.status < 300, `${method} ${path}: ${asked.status} ${asked.body.message}`);
    return asked.body;
  }

  /** The events of a watch, until it is left. */
  async watch(user: UserInfo, path: string): Promise<WatchedEvents> {
    const { transport } = this.#plane.clientFor("root", user);
    const leaving = new AbortController();
    const { signal } = leaving;
    const response = await transport.send({ method: "GET", path, headers: {}, signal });
    assert.equal(response.status, 200, path);
    const events = eventsIn(response.body as AsyncIterable<Uint8Array>);
    return {
      next: async () => (await events.next()).value as WatchedEvent,
      close: () => leaving.abort(),
    };
  }

  async names(user: UserInfo, path: string): Promise<readonly string[]> {
    const { items = [] } = await this.expectSuccess(user, "GET", path);
    return items.map(({ metadata }) => metadata.name);
  }

  /** In root; by its administrator. */
  async allowWorkspaceCreation(admin: UserInfo): Promise<void> {
    const rules = [{ apiGroups: ["tenancy.kcp.io"], resources: ["workspaces"], verbs: ["create"] }];
    const subjects = [groupSubject("system:authenticated")];
    await this.allow(admin, "root", "makers", { rules, subjects });
  }

  /** A workspace that a user makes below root, ready; its cluster. */
  async workspace(user: UserInfo, name: string): Promise<string> {
    const type = { name: "universal", path: "root" };
    const body = { metadata: { name }, spec: { type } };
    const made = await this.expectSuccess(user, "POST", `${tenancyOf("root")}/workspaces`, body);
    assert.equal(made["status"]?.phase, "Ready");
    return made["spec"].cluster as string;
  }

  /** Lets users or groups have rules in a logical cluster; by its owner. */
  async allow(
    owner: UserInfo,
    cluster: string,
    name: string,
    {
      rules,
      subjects,
    }: { readonly rules: readonly object[]; readonly subjects: readonly object[] },
  ): Promise<void> {
    const path = `/clusters/${cluster}/apis/${rbac}/v1`;
    await this.expectSuccess(owner, "POST", `${path}/clusterroles`, { metadata: { name }, rules });
    await this.expectSuccess(owner, "POST", `${path}/clusterrolebindings`, {
      metadata: { name },
      roleRef: { apiGroup: rbac, kind: "ClusterRole", name },
      subjects,
    });
  }
}

export interface WatchedEvent {
  readonly type: string;
  readonly object: AnyResponse;
}

export interface WatchedEvents {
  next(): Promise<WatchedEvent>;
  close(): void;
}

async function* eventsIn(body: AsyncIterable<Uint8Array>): AsyncGenerator<WatchedEvent> {
  let text = "";
  for await (const chunk of body) {
    const lines = (text + Buffer.from(chunk).toString("utf8")).split("\n");
    text = lines.pop() ?? "";
    for (const line of lines) if (line !== "") yield JSON.parse(line) as WatchedEvent;
  }
}

const rbac = "rbac.authorization.k8s.io";

export const userSubject = (name: string) => ({ apiGroup: rbac, kind: "User", name });
export const groupSubject = (name: string) => ({ apiGroup: rbac, kind: "Group", name });
export const bindRule = { apiGroups: ["apis.kcp.io"], resources: ["apiexports"], verbs: ["bind"] };
/** To come in. */
export const accessRule = { nonResourceURLs: ["/"], verbs: ["access"] };

export const tenancyOf = (cluster: string) => `/clusters/${cluster}/apis/tenancy.kcp.io/v1alpha1`;
export const apisOf = (cluster: string, version = "v1alpha2") =>
  `/clusters/${cluster}/apis/apis.kcp.io/${version}`;
