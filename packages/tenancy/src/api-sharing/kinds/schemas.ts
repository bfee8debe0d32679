/** The schemas of the kinds of apis.kcp.io, with upstream's names, columns and rules. */
import type { JsonObject } from "@kcp-ts/machinery/json";
import { schemaBuilders } from "../../workspaces/index.ts";

const { ageColumn, atomic, column, conditions, flag, labelSelector, list, object, root, rules } =
  schemaBuilders;
const { text } = schemaBuilders;

export const apisGroup = "apis.kcp.io";

const categories = ["kcp"];
const anything: JsonObject = { type: "object", "x-kubernetes-preserve-unknown-fields": true };

function keyed(...keys: readonly string[]): JsonObject {
  return { "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": [...keys] };
}

export const pathPattern = "^[a-z0-9]([-a-z0-9]*[a-z0-9])?(:[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$";
const groupPattern = "^(|[a-z0-9]([-a-z0-9]*[a-z0-9](\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*)?)$";
const versionPattern = "^v[1-9][0-9]*([a-z]+[1-9][0-9]*)?$";

/** A reference by path, or by name within the same workspace. */
const exportReference = object(
  {
    path: text("The workspace of the APIExport; the one of this object when it is left out.", {
      pattern: pathPattern,
    }),
    name: text("The name of the APIExport."),
  },
  { required: ["name"] },
);

const immutableReference = rules(["self == oldSelf", "APIExport reference must not be changed"]);

/**
 * The shards of an endpoint: all shards, shards with given labels, or, without either, the shard
 * whose URL is the endpoint's prefix.
 */
const shardSelection = object(
  { matchAll: flag("All of them."), selector: labelSelector },
  rules([
    "!(has(self.matchAll) && self.matchAll && has(self.selector))",
    "matchAll and selector are mutually exclusive",
  ]),
);

/** The endpoints of a service, by shard. */
export const endpoints: JsonObject = list(
  object({ url: text("", { minLength: 1 }), shards: shardSelection }, { required: ["url"] }),
  keyed("url"),
);

export const resourceSchemaKind = {
  group: apisGroup,
  version: "v1alpha1",
  kind: "APIResourceSchema",
  resource: "apiresourceschemas",
  categories,
  columns: [ageColumn],
  hasStatus: false,
  schema: root(
    "A schema that an APIExport offers. It never changes, and by itself serves nothing.",
    {
      spec: object(
        {
          group: text("The group; empty for the core group."),
          names: object(
            {
              plural: text("", { minLength: 1 }),
              singular: text(),
              kind: text("", { minLength: 1 }),
              listKind: text(),
              shortNames: list(text(), atomic),
              categories: list(text(), atomic),
            },
            { required: ["plural", "kind"] },
          ),
          scope: text("", { enum: ["Cluster", "Namespaced"] }),
          nameValidation: text("", {
            default: "DNS1123Subdomain",
            enum: ["DNS1123Subdomain", "PathSegmentName"],
          }),
          versions: list(
            object(
              {
                name: text("", { minLength: 1, pattern: versionPattern }),
                served: flag("", { default: true }),
                storage: flag(""),
                deprecated: flag(""),
                deprecationWarning: text(),
                schema: anything,
                subresources: anything,
                additionalPrinterColumns: list(anything),
                selectableFields: list(anything),
              },
              { required: ["name", "storage", "schema"] },
            ),
            { minItems: 1, ...keyed("name") },
          ),
          conversion: {
            ...anything,
            properties: { strategy: text("", { enum: ["None", "Webhook"] }), webhook: anything },
            required: ["strategy"],
            ...rules([
              "(self.strategy == 'None' && !has(self.webhook))  || (self.strategy == 'Webhook' && has(self.webhook))",
              "Webhook must be specified if strategy=Webhook",
            ]),
          },
        },
        {
          required: ["group", "names", "scope", "versions"],
          ...rules([
            "self.versions.size() <= 1 || has(self.conversion)",
            "Conversion must be specified when multiple versions exist",
          ]),
        },
      ),
    },
    { required: ["spec"] },
  ),
};

/** The name of an API group; empty for the core group. */
export const resourceGroup: JsonObject = text("", { pattern: groupPattern });
export const resourceName: JsonObject = text("", { pattern: "^[a-z][-a-z0-9]*[a-z0-9]$" });

const claimFields: Readonly<Record<string, JsonObject>> = {
  group: { ...resourceGroup, default: "" },
  resource: resourceName,
  identityHash: text("Of the other APIExport that the resource is from.", { default: "" }),
};

const verbs = list(text(), { minItems: 1, "x-kubernetes-list-type": "set" });

/** Selects the objects of a claimed resource. */
const claimSelector = object(
  {
    matchAll: flag("All of them."),
    ...(labelSelector["properties"] as Readonly<Record<string, JsonObject>>),
  },
  { "x-kubernetes-map-type": "atomic" },
);

const exportClaim = object(
  { ...claimFields, verbs, defaultSelector: claimSelector },
  { required: ["resource", "verbs"] },
);

const oldSelector = list(
  object(
    {
      name: text("", {
        minLength: 1,
        maxLength: 253,
        pattern: "^([a-z0-9][-a-z0-9_.]*)?[a-z0-9]$",
      }),
      namespace: text("", { minLength: 1 }),
    },
    rules(["has(self.__namespace__) || has(self.name)", "at least one field must be set"]),
  ),
);
const oldClaim = { ...claimFields, all: flag(""), resourceSelector: oldSelector };
const allOrSome = rules([
  "(has(self.all) && self.all) != (has(self.resourceSelector) && size(self.resourceSelector) > 0)",
  'either "all" or "resourceSelector" must be set',
]);

const state = text("", { enum: ["Accepted", "Rejected"] });

/** A claim in a status, for both versions. */
const saidClaim = object(
  {
    ...claimFields,
    verbs: list(text()),
    selector: claimSelector,
    defaultSelector: claimSelector,
    state,
    all: flag(""),
    resourceSelector: oldSelector,
  },
  { required: ["resource"] },
);

const exportStatus = object({
  identityHash: text("Tells this API from others of the same name."),
  conditions,
  virtualWorkspaces: list(object({ url: text("", { minLength: 1 }) }, { required: ["url"] })),
});

export const identity: JsonObject = object({
  secretRef: object({ name: text(), namespace: text() }, { "x-kubernetes-map-type": "atomic" }),
});
const maximalPermissionPolicy = object(
  { local: { type: "object" } },
  { oneOf: [{ required: ["local"] }] },
);

/**
 * The resource has virtual storage: an endpoint slice in the export's workspace has the endpoint of
 * its objects.
 */
const virtualStorage = object(
  {
    reference: object(
      { apiGroup: text(), kind: text(), name: text() },
      { required: ["kind", "name"], "x-kubernetes-map-type": "atomic" },
    ),
    identityHash: text("Of what the endpoint slice is for."),
  },
  { required: ["identityHash", "reference"] },
);

const exportNames = {
  group: apisGroup,
  kind: "APIExport",
  resource: "apiexports",
  categories,
  columns: [ageColumn],
  hasStatus: true,
};

export const exportKind = {
  ...exportNames,
  version: "v1alpha2",
  schema: root("An API that workspaces can bind to.", {
    spec: object(
      {
        resources: list(
          object(
            {
              name: text("", { minLength: 1 }),
              group: text("", { default: "" }),
              schema: text("The name of an APIResourceSchema of this workspace.", {
                minLength: 1,
              }),
              storage: object(
                { crd: { type: "object" }, virtual: virtualStorage },
                {
                  default: { crd: {} },
                  ...rules([
                    "has(self.crd) != has(self.virtual)",
                    "Exactly one of crd or virtual must be set",
                  ]),
                },
              ),
            },
            { required: ["name", "schema"] },
          ),
          keyed("name", "group"),
        ),
        identity,
        maximalPermissionPolicy,
        permissionClaims: list(exportClaim, keyed("group", "resource")),
      },
      { default: {} },
    ),
    status: exportStatus,
  }),
};

export const exportKindV1alpha1 = {
  ...exportNames,
  version: "v1alpha1",
  columns: [
    ageColumn,
    column(
      "Ready",
      '.status.conditions[?(@.type=="VirtualWorkspaceURLsReady")].status',
      "Whether its virtual workspaces are known.",
    ),
  ],
  schema: root("An API that workspaces can bind to.", {
    spec: object(
      {
        latestResourceSchemas: list(text(), { "x-kubernetes-list-type": "set" }),
        identity,
        maximalPermissionPolicy,
        permissionClaims: list(
          object(oldClaim, { required: ["resource"], ...allOrSome }),
          keyed("group", "resource"),
        ),
      },
      { default: {} },
    ),
    status: exportStatus,
  }),
};

const bindingStatus = object({
  apiExportClusterName: text(),
  phase: text("", { enum: ["", "Binding", "Bound"] }),
  boundResources: list(
    object(
      {
        group: text("", { default: "" }),
        resource: text(),
        schema: object({ name: text(), UID: text(), identityHash: text() }),
        storageVersions: list(text()),
      },
      { required: ["resource", "schema"] },
    ),
    keyed("group", "resource"),
  ),
  appliedPermissionClaims: list(saidClaim),
  exportPermissionClaims: list(saidClaim),
  conditions,
});

const bindingNames = {
  group: apisGroup,
  kind: "APIBinding",
  resource: "apibindings",
  categories,
  columns: [
    ageColumn,
    column("Ready", '.status.conditions[?(@.type=="Ready")].status', "Whether it is bound."),
  ],
  hasStatus: true,
};

const reference = object(
  { export: { ...exportReference, ...immutableReference } },
  rules(["has(self.export)", "APIExport reference must not be changed"]),
);

const claimKeys = keyed("group", "resource", "identityHash");

export const bindingKind = {
  ...bindingNames,
  version: "v1alpha2",
  schema: root(
    "Brings the API of an APIExport into a workspace.",
    {
      spec: object(
        {
          reference,
          permissionClaims: list(
            object(
              {
                ...claimFields,
                verbs,
                state,
                defaultSelector: claimSelector,
                selector: claimSelector,
              },
              { required: ["resource", "selector", "state", "verbs"] },
            ),
            claimKeys,
          ),
        },
        { required: ["reference"] },
      ),
      status: bindingStatus,
    },
    { required: ["spec"] },
  ),
};

export const bindingKindV1alpha1 = {
  ...bindingNames,
  version: "v1alpha1",
  schema: root(
    "Brings the API of an APIExport into a workspace.",
    {
      spec: object(
        {
          reference,
          permissionClaims: list(
            object({ ...oldClaim, state }, { required: ["resource", "state"], ...allOrSome }),
            claimKeys,
          ),
        },
        { required: ["reference"] },
      ),
      status: bindingStatus,
    },
    { required: ["spec"] },
  ),
};

export const endpointSliceKind = {
  group: apisGroup,
  version: "v1alpha1",
  kind: "APIExportEndpointSlice",
  resource: "apiexportendpointslices",
  categories,
  columns: [
    column("Export", ".spec.export.name", "The APIExport."),
    column("Partition", ".spec.partition", "The part of all shards that it covers."),
    ageColumn,
  ],
  hasStatus: true,
  schema: root(
    "Where the objects of an APIExport's consumers are served to its provider.",
    {
      spec: object(
        { export: { ...exportReference, ...immutableReference }, partition: text() },
        { required: ["export"] },
      ),
      status: object({
        endpoints,
        shardSelector: text(),
        conditions,
      }),
    },
    { required: ["spec"] },
  ),
};

export const conversionKind = {
  group: apisGroup,
  version: "v1alpha1",
  kind: "APIConversion",
  resource: "apiconversions",
  categories,
  columns: [ageColumn],
  hasStatus: false,
  schema: root("Rules of conversion between versions. Kept, and not evaluated.", {
    spec: object(
      {
        conversions: list(
          object(
            {
              from: text("", { minLength: 1, pattern: versionPattern }),
              to: text("", { minLength: 1, pattern: versionPattern }),
              rules: list(
                object(
                  {
                    field: text("", { minLength: 1 }),
                    destination: text("", { minLength: 1 }),
                    transformation: text(),
                  },
                  { required: ["destination", "field"] },
                ),
                keyed("destination"),
              ),
              preserve: list(text()),
            },
            { required: ["from", "rules", "to"] },
          ),
          keyed("from", "to"),
        ),
      },
      { required: ["conversions"] },
    ),
  }),
};
