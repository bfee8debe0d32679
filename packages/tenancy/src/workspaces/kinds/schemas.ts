/**
 * The kinds of tenancy as in kcp v0.32: names, schemas with their defaults and rules, and columns.
 */
import {
  ageColumn,
  bool,
  column,
  intOrString,
  keyedBy,
  kindSchema,
  list,
  map,
  object,
  rules,
  type Schema,
  type SystemKind,
  string,
} from "@kcp-ts/machinery/schema";
import { conditions, labelSelector, lifecycleIds, phase, policyRules } from "./shared-schemas.ts";

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
    column("Phase", ".status.phase", { description: "How far the logical cluster has come." }),
    column("URL", ".status.URL", { description: "Where its API is served." }),
    ageColumn,
  ],
  schema: kindSchema(
    "A logical cluster: it exists as long as this object, which is always named cluster, is in it.",
    {
      spec: object(
        {
          directlyDeletable: bool("Whether this object may be deleted by its users.", {
            default: false,
          }),
          owner: object(
            {
              apiVersion: string("", { minLength: 1, pattern: "^([^/]+/)?[^/]+$" }),
              resource: string("", { minLength: 1 }),
              name: string("", { minLength: 1 }),
              namespace: string(),
              cluster: string("", { minLength: 1 }),
              uid: string("", { minLength: 1 }),
            },
            { required: ["apiVersion", "cluster", "name", "resource", "uid"] },
          ),
          createdBy: object({
            username: string(),
            uid: string(),
            groups: list(string()),
            extra: map(list(string())),
          }),
          initializers: lifecycleIds("Who must be done before the logical cluster is ready."),
          terminators: lifecycleIds("Who must be done before its content is deleted."),
        },
        { default: {} },
      ),
      status: object(
        {
          URL: string("Where its API is served."),
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
    column("Type", ".spec.type.name", { description: "Its type." }),
    column("Region", ".metadata.labels['region']", { description: "Where it is." }),
    column("Phase", ".status.phase", { description: "How far it has come." }),
    column("URL", ".spec.URL", { description: "Where its API is served." }),
    ageColumn,
  ],
  schema: {
    ...kindSchema("A logical cluster under a name, in the tree of workspaces.", {
      spec: object(
        {
          type: object(
            {
              name: string("The name of its type.", { pattern: typeName }),
              path: string("The workspace that its type is in.", { pattern: pathPattern }),
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
          cluster: string(
            "The name of its logical cluster.",
            rules(["self == oldSelf", "cluster is immutable"]),
          ),
          URL: string("Where its API is served.", { format: "uri" }),
          mount: object(
            {
              ref: object(
                { apiVersion: string(), kind: string(), name: string(), namespace: string() },
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
    name: string("The name of a type.", { pattern: typeName }),
    path: string("The workspace that it is in.", { pattern: pathPattern }),
  },
  { required: ["name"] },
);

const limit = (description: string): Schema =>
  object(
    { none: bool("None at all."), types: list(typeReference, { minItems: 1 }) },
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
      initializer: bool("Whether a controller of this type prepares new workspaces."),
      terminator: bool("Whether a controller of this type is asked before one is emptied."),
      extend: object({
        with: list(typeReference, { description: "Types that it is one of as well." }),
      }),
      additionalWorkspaceLabels: map(string(), { description: "Labels that new workspaces get." }),
      defaultChildWorkspaceType: { ...typeReference, default: { name: "universal", path: "root" } },
      limitAllowedChildren: limit("Which types may be below workspaces of this type."),
      limitAllowedParents: limit("Which types may be above workspaces of this type."),
      defaultAPIBindings: list(
        // The keys of a list must have values: an empty path means the workspace of the type
        // itself.
        object(
          { path: string("", { default: "" }), export: string("", { minLength: 1 }) },
          { required: ["export"] },
        ),
        keyedBy("path", "export"),
      ),
      defaultAPIBindingLifecycle: string("", { enum: ["InitializeOnly", "Maintain"] }),
      authenticationConfigurations: list(object({ name: string() }, { required: ["name"] })),
      initializerPermissions: policyRules,
      terminatorPermissions: policyRules,
    }),
    status: object(
      {
        conditions,
        virtualWorkspaces: list(
          object(
            {
              url: string("", { minLength: 1 }),
              type: string("", { enum: ["initializing", "terminating"] }),
            },
            { required: ["url"] },
          ),
        ),
      },
      { default: {} },
    ),
  }),
};

const quantity = intOrString("", {
  pattern:
    "^(\\+|-)?(([0-9]+(\\.[0-9]*)?)|(\\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\\+|-)?(([0-9]+(\\.[0-9]*)?)|(\\.[0-9]+))))?$",
});

export const shardKind: SystemKind = {
  group: core,
  version,
  kind: "Shard",
  resource: "shards",
  categories: kcp,
  hasStatus: true,
  columns: [
    column("Region", ".metadata.labels['region']", { description: "Where it is." }),
    column("URL", ".spec.baseURL", { description: "Where it is reached by other shards." }),
    column("External URL", ".spec.externalURL", { description: "Where it is reached by clients." }),
    ageColumn,
  ],
  schema: kindSchema("A process, or several, that serve logical clusters.", {
    spec: object(
      {
        baseURL: string("Where other shards reach it.", { format: "uri", minLength: 1 }),
        externalURL: string("Where clients reach it.", { format: "uri", minLength: 1 }),
        virtualWorkspaceURL: string("Where its virtual workspaces are.", {
          format: "uri",
          minLength: 1,
        }),
      },
      { required: ["baseURL"] },
    ),
    status: object({ conditions, capacity: map(quantity) }),
  }),
};

/** A string that is not empty where it is set. */
const said = string("", { minLength: 1 });

const notBoth = [
  "!(has(self.claim) && has(self.expression))",
  "claim and expression cannot both be specified",
] as const;

const oneOfBoth = [
  ["has(self.claim) || has(self.expression)", "either claim or expression must be specified"],
  notBoth,
] as const;

const prefixed = object(
  { claim: said, expression: said, prefix: string() },
  rules(...oneOfBoth, [
    "!(has(self.prefix)) || has(self.claim)",
    "prefix can only be specified when claim is specified",
  ]),
);

const issuer = object(
  {
    url: string(),
    discoveryURL: string(),
    certificateAuthority: string(),
    audiences: list(string()),
    audienceMatchPolicy: string(),
  },
  { required: ["url"] },
);

const claimMappings = object({
  username: prefixed,
  groups: prefixed,
  // Go clients always send this struct, and leave it empty where the issuer has no uid.
  uid: object({ claim: said, expression: said }, rules(notBoth)),
  extra: list(
    object({ key: string(), valueExpression: string() }, { required: ["key", "valueExpression"] }),
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
  object({ expression: string(), message: string() }, { required: ["expression", "message"] }),
);

export const workspaceAuthenticationConfigurationKind: SystemKind = {
  group: tenancy,
  version,
  kind: "WorkspaceAuthenticationConfiguration",
  resource: "workspaceauthenticationconfigurations",
  categories: kcp,
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
