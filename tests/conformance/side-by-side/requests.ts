/** Short forms for writing the corpus. */
import { type CorpusRequest, type CorpusResponse, valueAt } from "./corpus-request.ts";

type Rest = Omit<CorpusRequest, "name" | "method" | "path" | "body">;

export const get = (name: string, path: string, rest: Rest = {}): CorpusRequest => ({
  name,
  method: "GET",
  path,
  ...rest,
});

export const post = (
  name: string,
  path: string,
  body: object | string,
  rest: Rest = {},
): CorpusRequest => ({ name, method: "POST", path, body, ...rest });

export const put = (
  name: string,
  path: string,
  body: object | string,
  rest: Rest = {},
): CorpusRequest => ({ name, method: "PUT", path, body, ...rest });

export const remove = (
  name: string,
  path: string,
  body?: object | string,
  rest: Rest = {},
): CorpusRequest => ({
  name,
  method: "DELETE",
  path,
  ...(body === undefined ? {} : { body }),
  ...rest,
});

const patchTypes = {
  json: "application/json-patch+json",
  merge: "application/merge-patch+json",
  strategic: "application/strategic-merge-patch+json",
  apply: "application/apply-patch+yaml",
};

export const patch = (
  type: keyof typeof patchTypes,
  name: string,
  path: string,
  body: object | string,
  rest: Rest = {},
): CorpusRequest => ({
  name,
  method: "PATCH",
  path,
  body,
  ...rest,
  headers: { "content-type": patchTypes[type], ...rest.headers },
});

export const namespace = (name: string): CorpusRequest =>
  post(`the namespace ${name}`, "/api/v1/namespaces", {
    apiVersion: "v1",
    kind: "Namespace",
    metadata: { name },
  });

export const configMap = (
  name: string,
  data?: Readonly<Record<string, unknown>>,
  metadata: object = {},
): object => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name, ...metadata },
  ...(data === undefined ? {} : { data }),
});

export const accept = (value: string): Rest => ({ headers: { accept: value } });
export const asTable = accept("application/json;as=Table;v=v1;g=meta.k8s.io,application/json");
export const asMetadata = accept(
  "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io,application/json",
);
export const asMetadataList = accept(
  "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io,application/json",
);

/** A definition whose conditions say that it is served. */
export const established = ({ body }: CorpusResponse): boolean => {
  const conditions = valueAt(body, "status.conditions");
  return (
    Array.isArray(conditions) &&
    conditions.some(({ type, status }) => type === "Established" && status === "True")
  );
};

export const found = ({ status }: CorpusResponse): boolean => status === 200;
export const isNotFound = ({ status }: CorpusResponse): boolean => status === 404;

/** The real server tells them in the order of a map, which is another each time. */
export function sortedCauses(body: unknown): unknown {
  const { details } = body as { details: { causes: object[] } };
  return details.causes.map((cause) => JSON.stringify(cause)).sort();
}

/** As somebody else, whom the administrator stands in for. */
export const impersonating = (user: string): Rest => ({ headers: { "impersonate-user": user } });

/** The way into a logical cluster of ours; means nothing elsewhere. */
export const grantWorkspaceAccess = (...users: readonly string[]): CorpusRequest[] => {
  const name = `let-in-${users.join("-")}`;
  const rbac = "/apis/rbac.authorization.k8s.io/v1";
  return [
    post("let them in: the role", `${rbac}/clusterroles`, {
      metadata: { name },
      rules: [{ nonResourceURLs: ["/"], verbs: ["access"] }],
    }),
    post("let them in: the binding", `${rbac}/clusterrolebindings`, {
      metadata: { name },
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name },
      subjects: users.map((user) => ({
        apiGroup: "rbac.authorization.k8s.io",
        kind: "User",
        name: user,
      })),
    }),
  ];
};
