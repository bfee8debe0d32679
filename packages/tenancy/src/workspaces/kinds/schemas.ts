/**
 * The kinds of tenancy as in kcp v0.32: names, schemas with their defaults and rules, and columns.
 */
import type { SystemKind } from "@kcp-ts/apiserver/custom-resources";
import type { JsonObject } from "@kcp-ts/machinery/json";
import {
  ageColumn,
  column,
  conditions,
  flag,
  kindSchema,
  labelSelector,
  lifecycleIds,
  list,
  object,
  phase,
  policyRules,
  rules,
  text,
  textMap,
} from "./schema-builders.ts";

const version = "v1alpha1";
const tenancy = "tenancy.kcp.io";
const core = "core.kcp.io";
const kcp = ["kcp"];

export const logicalClusterKind: SystemKind = {
  group: core,
  version,
  kind: "LogicalCluster",
  resource: "logicalclusters",
  categories: kcp,
  hasStatus: true,
  columns: [
    column("Phase", ".status.phase", "How far the logical cluster has come."),
    column("URL", ".status.URL", "Where its API is served."),
    ageColumn,
  ],
  schema: kindSchema(
    "A logical cluster: it exists as long as this object, which is always named cluster, is in it.",
    {
      spec: object(
        {
          directlyDeletable: flag("Whether this object may be deleted by its users.", {
            default: false,
          }),
          owner: object(
            {
              apiVersion: text("", { minLength: 1, pattern: "^([^/]+/)?[^/]+$" }),
              resource: text("", { minLength: 1 }),
              name: text("", { minLength: 1 }),
              namespace: text(),
              cluster: text("", { minLength: 1 }),
              uid: text("", { minLength: 1 }),
            },
            { required: ["apiVersion", "cluster", "name", "resource", "uid"] },
          ),
          createdBy: object({
            username: text(),
            uid: text(),
            groups: list(text()),
            extra: { type: "object", additionalProperties: list(text()) },
          }),
          initializers: lifecycleIds("Who must be done before the logical cluster is ready."),
          terminators: lifecycleIds("Who must be done before its content is deleted."),
        },
        { default: {} },
      ),
      status: object(
        {
          URL: text("Where its API is served."),
          phase,
          conditions,
          initializers: lifecycleIds("Who is not done yet."),
          terminators: lifecycleIds("Who has still to be asked when it is deleted."),
        },
        { default: {} },
      ),
    },
  ),
};

const typeName = "^[a-z]([a-z0-9-]{0,61}[a-z0-9])?$";
const pathPattern = "^[a-z0-9]([-a-z0-9]*[a-z0-9])?(:[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$";
const workspaceName = "^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$";

export const workspaceKind: SystemKind = {
  group: tenancy,
  version,
  kind: "Workspace",
  resource: "workspaces",
  shortNames: ["ws"],
  categories: kcp,
  hasStatus: true,
  columns: [
    column("Type", ".spec.type.name", "Its type."),
    column("Region", ".metadata.labels['region']", "Where it is."),
    column("Phase", ".status.phase", "How far it has come."),
    column("URL", ".spec.URL", "Where its API is served."),
    ageColumn,
  ],
  schema: {
    ...kindSchema("A logical cluster under a name, in the tree of workspaces.", {
      spec: object(
        {
          type: object(
            {
              name: text("The name of its type.", { pattern: typeName }),
              path: text("The workspace that its type is in.", { pattern: pathPattern }),
            },
            {
              required: ["name"],
              ...rules(
                ["self.name == oldSelf.name", "name is immutable"],
                ["has(oldSelf.path) == has(self.path)", "path is immutable"],
                [
                  "!has(oldSelf.path) || !has(self.path) || self.path == oldSelf.path",
                  "path is immutable",
                ],
              ),
            },
          ),
          location: object({
            selector: { ...labelSelector, description: "Which shards will do." },
          }),
          cluster: text(
            "The name of its logical cluster.",
            rules(["self == oldSelf", "cluster is immutable"]),
          ),
          URL: text("Where its API is served.", { format: "uri" }),
          mount: object(
            {
              ref: object(
                { apiVersion: text(), kind: text(), name: text(), namespace: text() },
                { required: ["apiVersion", "kind", "name"] },
              ),
            },
            { required: ["ref"], ...rules(["self == oldSelf", "mount is immutable"]) },
          ),
        },
        {
          default: {},
          ...rules(
            ["!has(oldSelf.URL) || has(self.URL)", "URL cannot be unset"],
            ["!has(oldSelf.cluster) || has(self.cluster)", "cluster cannot be unset"],
            ["has(oldSelf.mount) == has(self.mount)", "mount is immutable"],
          ),
        },
      ),
      status: object(
        {
          phase,
          conditions,
          initializers: lifecycleIds("Who is not done yet."),
          terminators: lifecycleIds("Who has still to be asked when it is deleted."),
        },
        { default: {} },
      ),
    }),
  },
};

const typeReference = object(
  {
    name: text("The name of a type.", { pattern: typeName }),
    path: text("The workspace that it is in.", { pattern: pathPattern }),
  },
  { required: ["name"] },
);

const limit = (description: string): JsonObject =>
  object(
    {
      none: flag("None at all."),
      types: list(typeReference, { minItems: 1 }),
    },
    {
      description,
      ...rules(["has(self.none) != has(self.types)", "exactly one of none and types must be set"]),
    },
  );

export const workspaceTypeKind: SystemKind = {
  group: tenancy,
  version,
  kind: "WorkspaceType",
  resource: "workspacetypes",
  categories: kcp,
  hasStatus: true,
  columns: [ageColumn],
  schema: kindSchema("What workspaces of this type begin with, and where they may be.", {
    spec: object({
      initializer: flag("Whether a controller of this type prepares new workspaces."),
      terminator: flag("Whether a controller of this type is asked before one is emptied."),
      extend: object({
        with: list(typeReference, { description: "Types that it is one of as well." }),
      }),
      additionalWorkspaceLabels: textMap("Labels that new workspaces get."),
      defaultChildWorkspaceType: {
        ...typeReference,
        default: { name: "universal", path: "root" },
      },
      limitAllowedChildren: limit("Which types may be below workspaces of this type."),
      limitAllowedParents: limit("Which types may be above workspaces of this type."),
      defaultAPIBindings: list(
        // The keys of a list must have values: an empty path means the workspace of the type
        // itself.
        object(
          { path: text("", { default: "" }), export: text("", { minLength: 1 }) },
          { required: ["export"] },
        ),
        {
          "x-kubernetes-list-type": "map",
          "x-kubernetes-list-map-keys": ["path", "export"],
        },
      ),
      defaultAPIBindingLifecycle: text("", { enum: ["InitializeOnly", "Maintain"] }),
      authenticationConfigurations: list(object({ name: text() }, { required: ["name"] })),
      initializerPermissions: policyRules,
      terminatorPermissions: policyRules,
    }),
    status: object(
      {
        conditions,
        virtualWorkspaces: list(
          object(
            {
              url: text("", { minLength: 1 }),
              type: text("", { enum: ["initializing", "terminating"] }),
            },
            { required: ["url"] },
          ),
        ),
      },
      { default: {} },
    ),
  }),
};
const quantity: JsonObject = {
  "x-kubernetes-int-or-string": true,
  anyOf: [{ type: "integer" }, { type: "string" }],
  pattern:
    "^(\\+|-)?(([0-9]+(\\.[0-9]*)?)|(\\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\\+|-)?(([0-9]+(\\.[0-9]*)?)|(\\.[0-9]+))))?$",
};

export const shardKind: SystemKind = {
  group: core,
  version,
  kind: "Shard",
  resource: "shards",
  categories: kcp,
  hasStatus: true,
  columns: [
    column("Region", ".metadata.labels['region']", "Where it is."),
    column("URL", ".spec.baseURL", "Where it is reached by other shards."),
    column("External URL", ".spec.externalURL", "Where it is reached by clients."),
    ageColumn,
  ],
  schema: kindSchema("A process, or several, that serve logical clusters.", {
    spec: object(
      {
        baseURL: text("Where other shards reach it.", { format: "uri", minLength: 1 }),
        externalURL: text("Where clients reach it.", { format: "uri", minLength: 1 }),
        virtualWorkspaceURL: text("Where its virtual workspaces are.", {
          format: "uri",
          minLength: 1,
        }),
      },
      { required: ["baseURL"] },
    ),
    status: object({ conditions, capacity: { type: "object", additionalProperties: quantity } }),
  }),
};

/** A string that is not empty where it is set. */
const said = text("", { minLength: 1 });

const notBoth = [
  "!(has(self.claim) && has(self.expression))",
  "claim and expression cannot both be specified",
] as const;

const oneOfBoth = [
  ["has(self.claim) || has(self.expression)", "either claim or expression must be specified"],
  notBoth,
] as const;

const prefixed = object(
  { claim: said, expression: said, prefix: text() },
  rules(...oneOfBoth, [
    "!(has(self.prefix)) || has(self.claim)",
    "prefix can only be specified when claim is specified",
  ]),
);

const issuer = object(
  {
    url: text(),
    discoveryURL: text(),
    certificateAuthority: text(),
    audiences: list(text()),
    audienceMatchPolicy: text(),
  },
  { required: ["url"] },
);

const claimMappings = object({
  username: prefixed,
  groups: prefixed,
  // Go clients always send this struct, and leave it empty where the issuer has no uid.
  uid: object({ claim: said, expression: said }, rules(notBoth)),
  extra: list(
    object({ key: text(), valueExpression: text() }, { required: ["key", "valueExpression"] }),
  ),
});

const claimValidationRules = list(
  object(
    { claim: said, requiredValue: said, expression: said, message: said },
    rules(
      ...oneOfBoth,
      [
        "(has(self.expression) && !has(self.requiredValue)) || has(self.claim)",
        "requiredValue can only be specified when claim is specified",
      ],
      [
        "(has(self.claim) && !has(self.message)) || has(self.expression)",
        "message can only be specified when expression is specified",
      ],
    ),
  ),
);

const userValidationRules = list(
  object({ expression: text(), message: text() }, { required: ["expression", "message"] }),
);

export const workspaceAuthenticationConfigurationKind: SystemKind = {
  group: tenancy,
  version,
  kind: "WorkspaceAuthenticationConfiguration",
  resource: "workspaceauthenticationconfigurations",
  categories: kcp,
  hasStatus: false,
  columns: [ageColumn],
  schema: kindSchema(
    "Whose tokens are accepted in the workspaces of a type.",
    {
      spec: object(
        {
          jwt: list(
            object(
              { issuer, claimMappings, claimValidationRules, userValidationRules },
              { required: ["claimMappings", "issuer"] },
            ),
          ),
        },
        { required: ["jwt"] },
      ),
    },
    { required: ["spec"] },
  ),
};

/** Names of Workspaces: one segment of a path. */
export const workspaceNamePattern = new RegExp(workspaceName);
