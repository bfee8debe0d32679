/** For tests: writes roles and bindings in a logical cluster as its administrator. */
import type { AnyObject, TestResponse, TestServer, TestUser } from "./test-server.ts";

export const rbacPath = "/apis/rbac.authorization.k8s.io/v1";

export interface RuleObject {
  readonly verbs: readonly string[];
  readonly apiGroups?: readonly string[];
  readonly resources?: readonly string[];
  readonly resourceNames?: readonly string[];
  readonly nonResourceURLs?: readonly string[];
}

export class RoleWriter {
  readonly server: TestServer;
  readonly cluster: string;
  readonly user: TestUser;

  constructor(server: TestServer, cluster: string, user: TestUser = "masters") {
    this.server = server;
    this.cluster = cluster;
    this.user = user;
  }

  as(user: TestUser): RoleWriter {
    return new RoleWriter(this.server, this.cluster, user);
  }

  post(path: string, body: object): Promise<TestResponse> {
    const target = `/clusters/${this.cluster}${path}`;
    return this.server.request("POST", target, { body, user: this.user });
  }

  get(path: string): Promise<TestResponse> {
    return this.server.get(`/clusters/${this.cluster}${path}`, { user: this.user });
  }

  clusterRole(
    name: string,
    rules: readonly RuleObject[],
    rest: object = {},
  ): Promise<TestResponse> {
    return this.post(`${rbacPath}/clusterroles`, { metadata: { name }, rules, ...rest });
  }

  role(name: string, rules: readonly RuleObject[], namespace = "default"): Promise<TestResponse> {
    const path = `${rbacPath}/namespaces/${namespace}/roles`;
    return this.post(path, { metadata: { name }, rules });
  }

  clusterBinding(name: string, role: string, ...users: readonly string[]): Promise<TestResponse> {
    return this.post(
      `${rbacPath}/clusterrolebindings`,
      bindingOf(name, "ClusterRole", role, users),
    );
  }

  binding(
    name: string,
    [kind, role]: readonly [string, string],
    ...users: readonly string[]
  ): Promise<TestResponse> {
    const path = `${rbacPath}/namespaces/default/rolebindings`;
    return this.post(path, bindingOf(name, kind, role, users));
  }

  /** Creates a ClusterRole with these rules, and a binding of the same name. */
  async grant(name: string, user: TestUser, rules: readonly RuleObject[]): Promise<void> {
    for (const { status, text } of [
      await this.clusterRole(name, rules),
      await this.clusterBinding(name, name, user),
    ])
      if (status !== 201) throw new Error(text);
  }
}

export function bindingOf(
  name: string,
  kind: string,
  role: string,
  users: readonly string[],
): Partial<AnyObject> {
  return {
    metadata: { name },
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind, name: role },
    subjects: users.map((user) => ({ kind: "User", name: user })),
  };
}
