/**
 * For tests: a control plane with a victim, and attackers of every rank around it. Requests are sent as they are, so that a test can
 * spell them in ways no client would.
 *
 * `root:org` is alice's, and so is `root:org:mine`; `root:org:theirs` is vera's, who knows nobody. tom has some roles in `root:org:mine`,
 * mallory has none anywhere.
 */
import type { TransportRequest } from "@kcp-ts/sdk/client";
import type { ServerLog, UserInfo } from "@kcp-ts/server";
import type { TestControlPlane, TestControlPlaneOptions } from "../testing/index.ts";
import { specOf, Tenants } from "../workspaces/tenants.ts";

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

export interface Reply {
  readonly status: number;
  readonly text: string;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
}

export interface Sent {
  readonly headers?: Readonly<Record<string, string>>;
  /** An object is sent as JSON, text as it is. */
  readonly body?: object | string;
  readonly type?: string;
}

/** Stands in what is the victim's, and in nothing that anybody else may read. */
export const treasure = "vvv-treasure-vvv";

export class Besieged {
  readonly plane: TestControlPlane;
  readonly tenants: Tenants;
  /** The logical cluster of `root:org:mine`. */
  readonly mine: string;
  /** The logical cluster of `root:org:theirs`. */
  readonly theirs: string;

  private constructor(tenants: Tenants, mine: string, theirs: string) {
    this.tenants = tenants;
    this.plane = tenants.plane;
    this.mine = mine;
    this.theirs = theirs;
  }

  static async start(options: TestControlPlaneOptions = {}): Promise<Besieged> {
    const tenants = await Tenants.start({ log: quiet, ...options });
    await tenants.workspace("root", "org", { user: master });
    await tenants.grant("root:org", alice, ["cluster-admin"]);
    await tenants.grant("root:org", vera, ["cluster-admin"]);
    const type = "root:universal";
    const mine = await tenants.workspace("root:org", "mine", { user: alice, type });
    const theirs = await tenants.workspace("root:org", "theirs", { user: vera, type });
    const clusters = [mine, theirs].map((each) => String(specOf(each)["cluster"]));
    const besieged = new Besieged(tenants, clusters[0] as string, clusters[1] as string);
    const secret = { metadata: { name: treasure }, stringData: { key: treasure } };
    await besieged.must(
      vera,
      "POST",
      "/clusters/root:org:theirs/api/v1/namespaces/default/secrets",
      {
        body: secret,
      },
    );
    return besieged;
  }

  close(): Promise<void> {
    return this.tenants.close();
  }

  async send(who: UserInfo, method: string, path: string, sent: Sent = {}): Promise<Reply> {
    const { body, type = "application/json", headers = {} } = sent;
    const { transport } = this.plane.clientFor("root", who);
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

  async must<Answer = Record<string, unknown>>(
    who: UserInfo,
    method: string,
    path: string,
    sent: Sent = {},
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
    await this.must(master, "POST", `${base}/clusterroles`, {
      body: { metadata: { name }, rules },
    });
    await this.must(master, "POST", `${base}/clusterrolebindings`, {
      body: { metadata: { name }, roleRef, subjects },
    });
  }
}

const quiet: ServerLog = {
  debug: () => {},
  info: () => {},
  warn: () => {},
  error: () => {},
  isLevelEnabled: () => false,
};
