/** Who may do what, by the roles and bindings of a logical cluster. Pure. */
import type { ClusterRole, ClusterRoleBinding, Role, RoleBinding } from "@kcp-ts/sdk/kinds";

export const verbs = [
  "get",
  "list",
  "watch",
  "create",
  "update",
  "patch",
  "delete",
  "deletecollection",
] as const;

export interface PolicyRule {
  readonly verbs: readonly string[];
  readonly apiGroups?: readonly string[];
  readonly resources?: readonly string[];
  readonly resourceNames?: readonly string[];
  readonly nonResourceURLs?: readonly string[];
}

export interface Subject {
  readonly kind: "User" | "Group" | "ServiceAccount";
  readonly name: string;
  readonly namespace: string;
}

/** A binding: the subject has the rules of the role, in one namespace or in all. */
export interface Grant {
  readonly subject: Subject;
  readonly role: string;
  /** Undefined for a role that the server has built in, or that is gone. */
  readonly rules: readonly PolicyRule[] | undefined;
  /** Undefined: in all namespaces. */
  readonly namespace: string | undefined;
}

export interface Policy {
  readonly clusterRoles: readonly ClusterRole[];
  readonly roles: readonly Role[];
  readonly clusterRoleBindings: readonly ClusterRoleBinding[];
  readonly roleBindings: readonly RoleBinding[];
}

/** Of the roles that the server has built in and lists nowhere, the one whose rules are fixed. */
const builtIn = new Map<string, readonly PolicyRule[]>([
  ["system:kcp:workspace:access", [{ verbs: ["access"], nonResourceURLs: ["/"] }]],
  [
    "cluster-admin",
    [
      { verbs: ["*"], apiGroups: ["*"], resources: ["*"] },
      { verbs: ["*"], nonResourceURLs: ["*"] },
    ],
  ],
]);

export function subjectText({ kind, name, namespace }: Subject): string {
  return kind === "ServiceAccount" ? `ServiceAccount ${namespace}/${name}` : `${kind} ${name}`;
}

export function grantsOf(policy: Policy): readonly Grant[] {
  const { clusterRoles, roles, clusterRoleBindings, roleBindings } = policy;
  const rules = new Map<string, readonly PolicyRule[]>([
    ...builtIn,
    ...clusterRoles.map((one) => [one.metadata.name, (one.rules ?? []) as PolicyRule[]] as const),
    ...roles.map(
      ({ metadata, rules: own = [] }) =>
        [`${metadata.namespace}/${metadata.name}`, own as readonly PolicyRule[]] as const,
    ),
  ]);
  return [...clusterRoleBindings, ...roleBindings].flatMap((binding) => {
    const { namespace } = binding.metadata;
    const { kind, name } = binding.roleRef;
    const role = kind === "Role" ? `${namespace}/${name}` : name;
    return (binding.subjects ?? []).map((one) => ({
      subject: {
        kind: one.kind as Subject["kind"],
        name: one.name,
        namespace: one.namespace ?? namespace ?? "",
      },
      role,
      rules: rules.get(role),
      namespace,
    }));
  });
}

export interface MatrixRow {
  readonly title: string;
  readonly subject?: Subject;
  /** By verb: where it is allowed; `everywhere`, or the namespaces. */
  readonly cells: ReadonlyMap<string, string>;
  readonly note: string;
}

function covers(list: readonly string[] | undefined, value: string): boolean {
  return list?.some((one) => one === "*" || one === value) === true;
}

/** `configmaps`, `deployments.apps`, `pods/exec`. */
export function partsOf(kind: string) {
  const [plain = "", subresource] = kind.split("/");
  const dot = plain.indexOf(".");
  const [name, group] = dot === -1 ? [plain, ""] : [plain.slice(0, dot), plain.slice(dot + 1)];
  return { name, group, subresource };
}

function grants(rule: PolicyRule, verb: string, resource: string): boolean {
  const { name, group, subresource } = partsOf(resource);
  const full = subresource === undefined ? name : `${name}/${subresource}`;
  return (
    covers(rule.verbs, verb) &&
    covers(rule.apiGroups, group) &&
    (covers(rule.resources, full) ||
      (subresource !== undefined && covers(rule.resources, `*/${subresource}`)))
  );
}

function extended(cells: Map<string, string>, verb: string, where: string): void {
  const known = cells.get(verb);
  if (known === undefined || where === "everywhere") cells.set(verb, where);
  else if (known !== "everywhere" && !known.split(", ").includes(where))
    cells.set(verb, `${known}, ${where}`);
}

function whereOf(grant: Grant, rule: PolicyRule): string {
  const names = rule.resourceNames?.length ? ` (${rule.resourceNames.join(" ")})` : "";
  return `${grant.namespace === undefined ? "everywhere" : grant.namespace}${names}`;
}

/** Who may do what with one kind: a row for each subject. */
export function matrixOfResource(all: readonly Grant[], resource: string): readonly MatrixRow[] {
  const rows = new Map<
    string,
    { subject: Subject; cells: Map<string, string>; unknown: Set<string> }
  >();
  for (const grant of all) {
    const { subject } = grant;
    const title = subjectText(subject);
    const row = rows.get(title) ?? { subject, cells: new Map(), unknown: new Set() };
    rows.set(title, row);
    if (grant.rules === undefined) row.unknown.add(grant.role);
    for (const rule of grant.rules ?? [])
      for (const verb of verbs)
        if (grants(rule, verb, resource)) extended(row.cells, verb, whereOf(grant, rule));
  }
  return [...rows]
    .filter(([, { cells, unknown }]) => cells.size + unknown.size > 0)
    .map(([title, { subject, cells, unknown }]) => ({
      title,
      subject,
      cells,
      note: noteOf(unknown),
    }));
}

/** What one subject may do: a row for each kind that a rule names. */
export function matrixOfRules(
  grantsOfSubject: readonly Omit<Grant, "subject">[],
): readonly MatrixRow[] {
  const rows = new Map<string, Map<string, string>>();
  for (const grant of grantsOfSubject)
    for (const rule of grant.rules ?? [])
      for (const title of namesOf(rule)) {
        const cells = rows.get(title) ?? new Map<string, string>();
        rows.set(title, cells);
        for (const verb of rule.verbs.includes("*") ? ["*"] : rule.verbs)
          for (const each of verb === "*" ? [...verbs, "*"] : [verb])
            extended(cells, each, whereOf(grant as Grant, rule));
      }
  return [...rows]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([title, cells]) => ({
      title,
      cells,
      note: [...cells.keys()]
        .filter((one) => !(verbs as readonly string[]).includes(one))
        .join(", "),
    }));
}

function namesOf({ apiGroups = [], resources = [], nonResourceURLs = [] }: PolicyRule): string[] {
  const kinds = apiGroups.flatMap((group) =>
    resources.map((resource) => {
      if (resource === "*" && group === "*") return "every kind";
      const [name, subresource] = resource.split("/");
      const full = group === "" ? name : `${name}.${group}`;
      return subresource === undefined ? (full as string) : `${full}/${subresource}`;
    }),
  );
  return [...kinds, ...nonResourceURLs.map((url) => `path ${url}`)];
}

/** Names of roles whose rules this page cannot read. */
export function noteOf(unknown: ReadonlySet<string>): string {
  return unknown.size === 0 ? "" : `and by the role ${[...unknown].join(", ")} of the server`;
}

/** Who may enter the workspace at all: the verb access on its root path. */
export function whoMayEnter(all: readonly Grant[]): readonly string[] {
  const found = all.filter(({ rules = [], namespace }) =>
    namespace === undefined
      ? rules.some((rule) => covers(rule.verbs, "access") && covers(rule.nonResourceURLs, "/"))
      : false,
  );
  return [...new Set(found.map(({ subject }) => subjectText(subject)))].sort();
}
