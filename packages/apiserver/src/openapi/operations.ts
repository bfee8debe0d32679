/** The paths of a served kind and their operations, independent of the dialect. */
import { apiVersionOf, type ResourceDefinition } from "../registry/index.ts";
import { patchMediaTypes } from "../request/media-types.ts";

export interface PathItem {
  readonly path: string;
  /** Required path parameters. */
  readonly parameters: readonly string[];
  readonly operations: readonly Operation[];
}

export interface Operation {
  readonly id: string;
  readonly method: "get" | "post" | "put" | "patch" | "delete";
  /** The value of `x-kubernetes-action`. */
  readonly action: string;
  readonly description: string;
  readonly query: readonly QueryParameter[];
  /** Media types of the body, if any; a patch is any JSON, other bodies are the object. */
  readonly bodyTypes: readonly string[];
  readonly response: "object" | "list" | "status";
}

export interface QueryParameter {
  readonly name: string;
  readonly type: "string" | "boolean" | "integer";
  readonly description: string;
}

export function pathItemsOf(definition: ResourceDefinition): PathItem[] {
  const { group, isNamespaced, resource, verbs, subresources } = definition;
  const base = `/${group === "" ? "api" : "apis"}/${apiVersionOf(definition)}`;
  const scope = isNamespaced ? ["namespace"] : [];
  const collection = `${base}${isNamespaced ? "/namespaces/{namespace}" : ""}/${resource}`;
  const named = [...scope, "name"];
  const build = (actions: readonly Action[], allowed: readonly string[], suffix = "") =>
    actions
      .filter(({ verb }) => allowed.includes(verb))
      .map((action) => operationOf(definition, withBodyTypes(definition, action), suffix));
  const items: PathItem[] = [
    { path: collection, parameters: scope, operations: build(collectionActions, verbs) },
    { path: `${collection}/{name}`, parameters: named, operations: build(objectActions, verbs) },
    ...(isNamespaced && verbs.includes("list")
      ? [
          {
            path: `${base}/${resource}`,
            parameters: [],
            operations: [operationOf(definition, listAction, "ForAllNamespaces")],
          },
        ]
      : []),
    ...[...subresources].map(([name, subresource]) => ({
      path: `${collection}/{name}/${name}`,
      parameters: named,
      operations: build(
        objectActions,
        subresource.verbs,
        `${name.slice(0, 1).toUpperCase()}${name.slice(1)}`,
      ),
    })),
  ];
  return items.filter(({ operations }) => operations.length > 0);
}

/** Strategic merge needs merge keys, which most custom kinds do not have. */
function withBodyTypes({ strategy }: ResourceDefinition, action: Action): Action {
  if (strategy.patchRules !== "none") return action;
  const type = "application/strategic-merge-patch+json";
  return { ...action, bodyTypes: action.bodyTypes.filter((each) => each !== type) };
}

interface Action extends Omit<Operation, "id" | "description"> {
  readonly verb: string;
  readonly description: string;
}

const dryRun: QueryParameter = {
  name: "dryRun",
  type: "string",
  description: "All: do everything but persist.",
};
/** kubectl checks PATCH for these before it requests server-side validation or a dry run. */
const writing: readonly QueryParameter[] = [
  dryRun,
  { name: "fieldManager", type: "string", description: "Who comes to own the fields." },
  {
    name: "fieldValidation",
    type: "string",
    description: "What to do about unknown fields: Ignore, Warn or Strict.",
  },
];
const force: QueryParameter = {
  name: "force",
  type: "boolean",
  description: "Whether an apply takes fields from their owners.",
};
const selecting: readonly QueryParameter[] = [
  { name: "labelSelector", type: "string", description: "Only objects with such labels." },
  { name: "fieldSelector", type: "string", description: "Only objects with such fields." },
  { name: "limit", type: "integer", description: "The most items of one answer." },
  { name: "continue", type: "string", description: "Where the last answer ended." },
  { name: "resourceVersion", type: "string", description: "How fresh the answer must be." },
  { name: "resourceVersionMatch", type: "string", description: "How to match resourceVersion." },
  { name: "timeoutSeconds", type: "integer", description: "How long the call may take." },
];
const watching: readonly QueryParameter[] = [
  { name: "watch", type: "boolean", description: "Go on with changes instead of ending." },
  { name: "allowWatchBookmarks", type: "boolean", description: "Send bookmarks, too." },
  { name: "sendInitialEvents", type: "boolean", description: "Begin with what there is." },
];
const anyBody = ["*/*"];

const listAction: Action = {
  verb: "list",
  method: "get",
  action: "list",
  description: "List or watch objects of kind",
  query: [...selecting, ...watching],
  bodyTypes: [],
  response: "list",
};

const collectionActions: readonly Action[] = [
  listAction,
  {
    verb: "create",
    method: "post",
    action: "post",
    description: "Create a",
    query: writing,
    bodyTypes: anyBody,
    response: "object",
  },
  {
    verb: "deletecollection",
    method: "delete",
    action: "deletecollection",
    description: "Delete a collection of",
    query: [dryRun, ...selecting],
    bodyTypes: [],
    response: "status",
  },
];

const objectActions: readonly Action[] = [
  {
    verb: "get",
    method: "get",
    action: "get",
    description: "Read the specified",
    query: [],
    bodyTypes: [],
    response: "object",
  },
  {
    verb: "update",
    method: "put",
    action: "put",
    description: "Replace the specified",
    query: writing,
    bodyTypes: anyBody,
    response: "object",
  },
  {
    verb: "patch",
    method: "patch",
    action: "patch",
    description: "Change parts of the specified",
    query: [...writing, force],
    bodyTypes: patchMediaTypes,
    response: "object",
  },
  {
    verb: "delete",
    method: "delete",
    action: "delete",
    description: "Delete a",
    query: [dryRun],
    bodyTypes: [],
    response: "status",
  },
];

const idVerbs: Readonly<Record<string, string>> = {
  post: "create",
  put: "replace",
  deletecollection: "deleteCollection",
  get: "read",
};

/**
 * Upstream's operation ids: `listCoreV1NamespacedConfigMap`, `readRbacAuthorizationV1ClusterRole`.
 */
function operationOf(definition: ResourceDefinition, action: Action, suffix: string): Operation {
  const { group, version, kind, isNamespaced } = definition;
  const { verb: _, description, ...operation } = action;
  const words = [...(group || "core").replace(/\.k8s\.io$/, "").split(/[.-]/), version];
  const scope = isNamespaced && suffix !== "ForAllNamespaces" ? "Namespaced" : "";
  return {
    ...operation,
    description: `${description} ${kind}.`,
    id: `${idVerbs[action.action] ?? action.action}${words.map(capitalized).join("")}${scope}${kind}${suffix}`,
  };
}

function capitalized(word: string): string {
  return `${word.slice(0, 1).toUpperCase()}${word.slice(1)}`;
}
