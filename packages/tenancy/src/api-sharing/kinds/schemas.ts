/** The schemas of the kinds of apis.kcp.io, with upstream's names, columns and rules. */
import {
  ageColumn,
  anyObject,
  atomic,
  bool,
  column,
  keyedBy,
  kindSchema,
  list,
  object,
  rules,
  type Schema,
  type SchemaProperties,
  string,
} from "@kcp-ts/machinery/schema";
import { conditions, labelSelector } from "../../workspaces/index.ts";

export const apisGroup = "apis.kcp.io";

const categories = ["kcp"];

export const pathPattern = "^[a-z0-9]([-a-z0-9]*[a-z0-9])?(:[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$";
const groupPattern = "^(|[a-z0-9]([-a-z0-9]*[a-z0-9](\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*)?)$";
const versionPattern = "^v[1-9][0-9]*([a-z]+[1-9][0-9]*)?$";

/** A reference by path, or by name within the same workspace. */
const exportReference = object(
  {
    path: string("The workspace of the APIExport; the one of this object when it is left out.", {
      pattern: pathPattern,
    }),
    name: string("The name of the APIExport."),
  },
  { required: ["name"] },
);

const immutableReference = rules(["self == oldSelf", "APIExport reference must not be changed"]);

/**
 * The shards of an endpoint: all shards, shards with given labels, or, without either, the shard
 * whose URL is the endpoint's prefix.
 */
const shardSelection = object(
  { matchAll: bool("All of them."), selector: labelSelector },
  rules([
    "!(has(self.matchAll) && self.matchAll && has(self.selector))",
    "matchAll and selector are mutually exclusive",
  ]),
);

/** The endpoints of a service, by shard. */
export const endpoints: Schema = list(
  object({ url: string("", { minLength: 1 }), shards: shardSelection }, { required: ["url"] }),
  keyedBy("url"),
);

export const resourceSchemaKind = {
  group: apisGroup,
  version: "v1alpha1",
  kind: "APIResourceSchema",
  resource: "apiresourceschemas",
  categories,
  columns: [ageColumn],
  schema: kindSchema(
    "A schema that an APIExport offers. It never changes, and by itself serves nothing.",
    {
      spec: object(
        {
          group: string("The group; empty for the core group."),
          names: object(
            {
              plural: string("", { minLength: 1 }),
              singular: string(),
              kind: string("", { minLength: 1 }),
              listKind: string(),
              shortNames: list(string(), atomic),
              categories: list(string(), atomic),
            },
            { required: ["plural", "kind"] },
          ),
          scope: string("", { enum: ["Cluster", "Namespaced"] }),
          nameValidation: string("", {
            default: "DNS1123Subdomain",
            enum: ["DNS1123Subdomain", "PathSegmentName"],
          }),
          versions: list(
            object(
              {
                name: string("", { minLength: 1, pattern: versionPattern }),
                served: bool("", { default: true }),
                storage: bool(),
                deprecated: bool(),
                deprecationWarning: string(),
                schema: anyObject(),
                subresources: anyObject(),
                additionalPrinterColumns: list(anyObject()),
                selectableFields: list(anyObject()),
              },
              { required: ["name", "storage", "schema"] },
            ),
            { minItems: 1, ...keyedBy("name") },
          ),
          conversion: anyObject("", {
            properties: {
              strategy: string("", { enum: ["None", "Webhook"] }),
              webhook: anyObject(),
            },
            required: ["strategy"],
            ...rules([
              "(self.strategy == 'None' && !has(self.webhook))  || (self.strategy == 'Webhook' && has(self.webhook))",
              "Webhook must be specified if strategy=Webhook",
            ]),
          }),
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
export const resourceGroup: Schema = string("", { pattern: groupPattern });
export const resourceName: Schema = string("", { pattern: "^[a-z][-a-z0-9]*[a-z0-9]$" });

const claimFields = {
  group: { ...resourceGroup, default: "" },
  resource: resourceName,
  identityHash: string("Of the other APIExport that the resource is from.", { default: "" }),
};

const verbs = list(string(), { minItems: 1, "x-kubernetes-list-type": "set" });

/** Selects the objects of a claimed resource. */
const claimSelector = object(
  { matchAll: bool("All of them."), ...(labelSelector["properties"] as SchemaProperties) },
  { "x-kubernetes-map-type": "atomic" },
);

const exportClaim = object(
  { ...claimFields, verbs, defaultSelector: claimSelector },
  { required: ["resource", "verbs"] },
);

const oldSelector = list(
  object(
    {
      name: string("", {
        minLength: 1,
        maxLength: 253,
        pattern: "^([a-z0-9][-a-z0-9_.]*)?[a-z0-9]$",
      }),
      namespace: string("", { minLength: 1 }),
    },
    rules(["has(self.__namespace__) || has(self.name)", "at least one field must be set"]),
  ),
);
const oldClaim = { ...claimFields, all: bool(), resourceSelector: oldSelector };
const allOrSome = rules([
  "(has(self.all) && self.all) != (has(self.resourceSelector) && size(self.resourceSelector) > 0)",
  'either "all" or "resourceSelector" must be set',
]);

const state = string("", { enum: ["Accepted", "Rejected"] });

/** A claim in a status, for both versions. */
const saidClaim = object(
  {
    ...claimFields,
    verbs: list(string()),
    selector: claimSelector,
    defaultSelector: claimSelector,
    state,
    all: bool(),
    resourceSelector: oldSelector,
  },
  { required: ["resource"] },
);

const exportStatus = object({
  identityHash: string("Tells this API from others of the same name."),
  conditions,
  virtualWorkspaces: list(object({ url: string("", { minLength: 1 }) }, { required: ["url"] })),
});

export const identity: Schema = object({
  secretRef: object({ name: string(), namespace: string() }, { "x-kubernetes-map-type": "atomic" }),
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
      { apiGroup: string(), kind: string(), name: string() },
      { required: ["kind", "name"], "x-kubernetes-map-type": "atomic" },
    ),
    identityHash: string("Of what the endpoint slice is for."),
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
  schema: kindSchema("An API that workspaces can bind to.", {
    spec: object(
      {
        resources: list(
          object(
            {
              name: string("", { minLength: 1 }),
              group: string("", { default: "" }),
              schema: string("The name of an APIResourceSchema of this workspace.", {
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
          keyedBy("name", "group"),
        ),
        identity,
        maximalPermissionPolicy,
        permissionClaims: list(exportClaim, keyedBy("group", "resource")),
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
    column("Ready", '.status.conditions[?(@.type=="VirtualWorkspaceURLsReady")].status', {
      description: "Whether its virtual workspaces are known.",
    }),
  ],
  schema: kindSchema("An API that workspaces can bind to.", {
    spec: object(
      {
        latestResourceSchemas: list(string(), { "x-kubernetes-list-type": "set" }),
        identity,
        maximalPermissionPolicy,
        permissionClaims: list(
          object(oldClaim, { required: ["resource"], ...allOrSome }),
          keyedBy("group", "resource"),
        ),
      },
      { default: {} },
    ),
    status: exportStatus,
  }),
};

const bindingStatus = object({
  apiExportClusterName: string(),
  phase: string("", { enum: ["", "Binding", "Bound"] }),
  boundResources: list(
    object(
      {
        group: string("", { default: "" }),
        resource: string(),
        schema: object({ name: string(), UID: string(), identityHash: string() }),
        storageVersions: list(string()),
      },
      { required: ["resource", "schema"] },
    ),
    keyedBy("group", "resource"),
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
    column("Ready", '.status.conditions[?(@.type=="Ready")].status', {
      description: "Whether it is bound.",
    }),
  ],
  hasStatus: true,
};

const reference = object(
  { export: { ...exportReference, ...immutableReference } },
  rules(["has(self.export)", "APIExport reference must not be changed"]),
);

const claimKeys = keyedBy("group", "resource", "identityHash");

export const bindingKind = {
  ...bindingNames,
  version: "v1alpha2",
  schema: kindSchema(
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
  schema: kindSchema(
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
    column("Export", ".spec.export.name", { description: "The APIExport." }),
    column("Partition", ".spec.partition", {
      description: "The part of all shards that it covers.",
    }),
    ageColumn,
  ],
  hasStatus: true,
  schema: kindSchema(
    "Where the objects of an APIExport's consumers are served to its provider.",
    {
      spec: object(
        { export: { ...exportReference, ...immutableReference }, partition: string() },
        { required: ["export"] },
      ),
      status: object({ endpoints, shardSelector: string(), conditions }),
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
  schema: kindSchema("Rules of conversion between versions. Kept, and not evaluated.", {
    spec: object(
      {
        conversions: list(
          object(
            {
              from: string("", { minLength: 1, pattern: versionPattern }),
              to: string("", { minLength: 1, pattern: versionPattern }),
              rules: list(
                object(
                  {
                    field: string("", { minLength: 1 }),
                    destination: string("", { minLength: 1 }),
                    transformation: string(),
                  },
                  { required: ["destination", "field"] },
                ),
                keyedBy("destination"),
              ),
              preserve: list(string()),
            },
            { required: ["from", "rules", "to"] },
          ),
          keyedBy("from", "to"),
        ),
      },
      { required: ["conversions"] },
    ),
  }),
};
