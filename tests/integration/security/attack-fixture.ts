/**
 * For tests: a control plane with a victim, and attackers of every rank around it. Requests are
 * sent as they are, so that a test can spell them in ways no client would.
 *
 * `root:org` is alice's, and so is `root:org:mine`; `root:org:theirs` is vera's, who knows nobody.
 * tom has some roles in `root:org:mine`, mallory has none anywhere.
 */
import type { ServerLog, UserInfo } from "@kcp-ts/apiserver";
import type { TransportRequest } from "@kcp-ts/sdk/client";
import { startTestControlPlane, type TestControlPlane } from "@kcp-ts/testing/internal";

const user = (username: string): UserInfo => ({ username, groups: ["system:authenticated"] });

export const alice = user("alice");
export const vera = user("vera");
export const tom = user("tom");
export const mallory = user("mallory");
export const anonymous: UserInfo = {
  username: "system:anonymous",
  groups: ["system:unauthenticated"],
};
export const admin: UserInfo = {
  username: "kcp-admin",
  groups: ["system:kcp:admin", "system:authenticated"],
};
export const master: UserInfo = {
  username: "master",
  groups: ["system:masters", "system:authenticated"],
};

export interface RawReply {
  readonly status: number;
  readonly text: string;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
}

export interface RawRequest {
  readonly headers?: Readonly<Record<string, string>>;
  /** An object is sent as JSON, text as it is. */
  readonly body?: object | string;
  readonly type?: string;
}

/** Stands in what is the victim's, and in nothing that anybody else may read. */
export const victimSecret = "vvv-treasure-vvv";

export class AttackFixture {
  readonly controlPlane: TestControlPlane;
  /** The logical cluster of `root:org:mine`. */
  attackerCluster = "";
  /** The logical cluster of `root:org:theirs`. */
  victimCluster = "";

  private constructor(controlPlane: TestControlPlane) {
    this.controlPlane = controlPlane;
  }

  static async start(): Promise<AttackFixture> {
    const besieged = new AttackFixture(await startTestControlPlane({ log: quiet }));
    const org = await besieged.#workspace(master, "root", "org", "organization");
    for (const owner of [alice, vera]) await besieged.#own(owner, org);
    besieged.attackerCluster = await besieged.#workspace(alice, "root:org", "mine", "universal");
    besieged.victimCluster = await besieged.#workspace(vera, "root:org", "theirs", "universal");
    await besieged.expectSuccess(vera, "POST", `/clusters/${besieged.victimCluster}${secrets}`, {
      body: { metadata: { name: victimSecret }, stringData: { key: victimSecret } },
    });
    return besieged;
  }

  close(): Promise<void> {
    return this.controlPlane.close();
  }

  async send(
    who: UserInfo,
    method: string,
    path: string,
    sent: RawRequest = {},
  ): Promise<RawReply> {
    const { body, type = "application/json", headers = {} } = sent;
    const { transport } = this.controlPlane.clientFor("root", who);
    const response = await transport.send({
      method: method as TransportRequest["method"],
      path,
      headers: { ...(body === undefined ? {} : { "content-type": type }), ...headers },
      ...(body === undefined
        ? {}
        : { body: typeof body === "string" ? body : JSON.stringify(body) }),
    });
    const { status } = response;
    return { status, headers: response.headers, text: await response.body.text() };
  }

  async expectSuccess<Answer = Record<string, unknown>>(
    who: UserInfo,
    method: string,
    path: string,
    sent: RawRequest = {},
  ): Promise<Answer> {
    const { status, text } = await this.send(who, method, path, sent);
    if (status >= 300) throw new Error(`${method} ${path}: ${status} ${text}`);
    return JSON.parse(text) as Answer;
  }

  /** Gives rules to somebody, in a workspace and by its administrator. */
  async grant(
    who: UserInfo,
    cluster: string,
    name: string,
    rules: readonly object[],
  ): Promise<void> {
    const base = `/clusters/${cluster}/apis/rbac.authorization.k8s.io/v1`;
    const roleRef = { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name };
    const subjects = [{ apiGroup: "rbac.authorization.k8s.io", kind: "User", name: who.username }];
    await this.expectSuccess(master, "POST", `${base}/clusterroles`, {
      body: { metadata: { name }, rules },
    });
    await this.expectSuccess(master, "POST", `${base}/clusterrolebindings`, {
      body: { metadata: { name }, roleRef, subjects },
    });
  }

  /**
   * Makes a workspace, which is ready when its create is answered, and returns its logical cluster.
   */
  async #workspace(who: UserInfo, parent: string, name: string, type: string): Promise<string> {
    const path = `/clusters/${parent}/apis/tenancy.kcp.io/v1alpha1/workspaces`;
    const { spec } = await this.expectSuccess<{ spec: { cluster: string } }>(who, "POST", path, {
      body: { metadata: { name }, spec: { type: { name: type, path: "root" } } },
    });
    return spec.cluster;
  }

  #own(who: UserInfo, cluster: string): Promise<unknown> {
    const apiGroup = "rbac.authorization.k8s.io";
    const path = `/clusters/${cluster}/apis/${apiGroup}/v1/clusterrolebindings`;
    return this.expectSuccess(master, "POST", path, {
      body: {
        metadata: { name: who.username },
        roleRef: { apiGroup, kind: "ClusterRole", name: "cluster-admin" },
        subjects: [{ apiGroup, kind: "User", name: who.username }],
      },
    });
  }
}

const secrets = "/api/v1/namespaces/default/secrets";

const quiet: ServerLog = {
  debug: () => {},
  info: () => {},
  warn: () => {},
  error: () => {},
  isDebugEnabled: false,
};
