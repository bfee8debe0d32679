/** The shapes of rbac.authorization.k8s.io/v1. Numbers are those of the published protobuf files. */
import { labelSelector, objectMeta } from "./meta.ts";
import { list, message, string } from "./shape.ts";

const rbac = "io.k8s.api.rbac.v1";

const policyRule = message(
  `${rbac}.PolicyRule`,
  {
    verbs: [1, list(string), "What may be done; * is everything."],
    apiGroups: [2, list(string), "API groups of the resources; the core group is empty, * is all."],
    resources: [3, list(string), "Resources, such as configmaps or namespaces/status; * is all."],
    resourceNames: [4, list(string), "Only objects of these names; empty is all of them."],
    nonResourceURLs: [5, list(string), "Paths outside of resources; * at the end is any rest."],
  },
  "Something that is allowed.",
  { required: ["verbs"] },
);

const subject = message(
  `${rbac}.Subject`,
  {
    kind: [1, string, "User, Group or ServiceAccount."],
    apiGroup: [2, string, "The group of the kind; by default the right one."],
    name: [3, string, "Name of the user, group or account."],
    namespace: [4, string, "Namespace of a ServiceAccount."],
  },
  "Who is allowed something.",
  { required: ["kind", "name"], isAtomic: true },
);

const roleRef = message(
  `${rbac}.RoleRef`,
  {
    apiGroup: [1, string, "Always rbac.authorization.k8s.io."],
    kind: [2, string, "Role or ClusterRole."],
    name: [3, string, "Name of the role."],
  },
  "The role that a binding gives.",
  { required: ["kind", "name"], isAtomic: true },
);

const rules = [2, list(policyRule), "What the role allows."] as const;
const subjects = [2, list(subject), "Who gets the role."] as const;
const givenRole = [3, roleRef, "The role that is given. It cannot be changed."] as const;
const metadata = [1, objectMeta, "Standard object metadata."] as const;

export const role = message(
  `${rbac}.Role`,
  { metadata, rules },
  "A set of permissions within a namespace.",
  { required: ["rules"] },
);

export const roleBinding = message(
  `${rbac}.RoleBinding`,
  { metadata, subjects, roleRef: givenRole },
  "Gives a role to subjects, within a namespace.",
  { required: ["roleRef"] },
);

export const clusterRole = message(
  `${rbac}.ClusterRole`,
  {
    metadata,
    rules,
    aggregationRule: [
      3,
      message(
        `${rbac}.AggregationRule`,
        {
          clusterRoleSelectors: [
            1,
            list(labelSelector),
            "Roles that any of these selects contribute their rules.",
          ],
        },
        "How a role is put together from others.",
      ),
      "When set, the rules are gathered from other roles.",
    ],
  },
  "A set of permissions for the whole cluster.",
  { required: ["rules"] },
);

export const clusterRoleBinding = message(
  `${rbac}.ClusterRoleBinding`,
  { metadata, subjects, roleRef: givenRole },
  "Gives a role to subjects, in the whole cluster.",
  { required: ["roleRef"] },
);
