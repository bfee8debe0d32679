/**
 * OpenAPI v3 documents of non-resource paths: discovery itself, the version, the keys of service
 * accounts.
 */
import { type JsonObject, type JsonValue, stringifyJson } from "@kcp-ts/machinery/json";

const meta = "io.k8s.apimachinery.pkg.apis.meta.v1";
const versionInfo = "io.k8s.apimachinery.pkg.version.Info";

interface PathDocument {
  readonly path: string;
  readonly id: string;
  readonly tag: string;
  readonly description: string;
  /** Media types of the response. */
  readonly types: readonly string[];
  /** The name of the response's schema; text if omitted. */
  readonly response?: string;
}

const objectTypes = [
  "application/json",
  "application/yaml",
  "application/vnd.kubernetes.protobuf",
] as const;

/** Keyed as in the index of documents. */
export const discoveryPaths: Readonly<Record<string, PathDocument>> = {
  api: {
    path: "/api/",
    id: "getCoreAPIVersions",
    tag: "core",
    description: "get available API versions",
    types: objectTypes,
    response: `${meta}.APIVersions`,
  },
  apis: {
    path: "/apis/",
    id: "getAPIVersions",
    tag: "apis",
    description: "get available API versions",
    types: objectTypes,
    response: `${meta}.APIGroupList`,
  },
  version: {
    path: "/version/",
    id: "getCodeVersion",
    tag: "version",
    description: "get the version information for this server",
    types: ["application/json"],
    response: versionInfo,
  },
};

export const issuerPaths: Readonly<Record<string, PathDocument>> = {
  ".well-known/openid-configuration": {
    path: "/.well-known/openid-configuration/",
    id: "getServiceAccountIssuerOpenIDConfiguration",
    tag: "WellKnown",
    description:
      "get service account issuer OpenID configuration, also known as the 'OIDC discovery doc'",
    types: ["application/json"],
  },
  "openid/v1/jwks": {
    path: "/openid/v1/jwks/",
    id: "getServiceAccountIssuerOpenIDKeyset",
    tag: "openid",
    description:
      "get service account issuer OpenID JSON Web Key Set (contains public token verification keys)",
    types: ["application/jwk-set+json"],
  },
};

export function groupPath(group: string): PathDocument {
  const words = group.replace(/\.k8s\.io$/, "").split(/[.-]/);
  const name = words.map((word) => `${word.slice(0, 1).toUpperCase()}${word.slice(1)}`).join("");
  return {
    path: `/apis/${group}/`,
    id: `get${name}APIGroup`,
    tag: group.split(".")[0] as string,
    description: "get information of a group",
    types: objectTypes,
    response: `${meta}.APIGroup`,
  };
}

export function pathDocument({
  path,
  id,
  tag,
  description,
  types,
  response,
}: PathDocument): Buffer {
  const schema: JsonObject =
    response === undefined ? { type: "string" } : { $ref: `#/components/schemas/${response}` };
  const content = Object.fromEntries(types.map((type) => [type, { schema }]));
  const responses = { 200: { description: "OK", content }, 401: { description: "Unauthorized" } };
  const used = response === undefined ? [] : [response, ...(usedBy[response] ?? [])].sort();
  return Buffer.from(
    stringifyJson({
      openapi: "3.0.0",
      info: { title: "Kubernetes", version: "unversioned" },
      paths: { [path]: { get: { tags: [tag], description, operationId: id, responses } } },
      components: { schemas: Object.fromEntries(used.map((name) => [name, schemas[name] ?? {}])) },
    } as unknown as JsonValue),
  );
}

const text = (description: string): JsonObject => ({ description, type: "string", default: "" });
const listOf = (name: string, description: string): JsonObject => ({
  description,
  type: "array",
  items: { default: {}, allOf: [{ $ref: `#/components/schemas/${meta}.${name}` }] },
  "x-kubernetes-list-type": "atomic",
});
const typeMeta = {
  apiVersion: text("The version of this schema."),
  kind: text("The kind of this object."),
};
const addresses = listOf(
  "ServerAddressByClientCIDR",
  "Addresses of the server, by the networks of clients.",
);

const usedBy: Readonly<Record<string, readonly string[]>> = {
  [`${meta}.APIVersions`]: [`${meta}.ServerAddressByClientCIDR`],
  [`${meta}.APIGroup`]: [`${meta}.GroupVersionForDiscovery`, `${meta}.ServerAddressByClientCIDR`],
  [`${meta}.APIGroupList`]: [
    `${meta}.APIGroup`,
    `${meta}.GroupVersionForDiscovery`,
    `${meta}.ServerAddressByClientCIDR`,
  ],
};

const schemas: Readonly<Record<string, JsonObject>> = {
  [`${meta}.APIVersions`]: {
    description: "The versions of the core group.",
    type: "object",
    required: ["versions", "serverAddressByClientCIDRs"],
    properties: {
      ...typeMeta,
      serverAddressByClientCIDRs: addresses,
      versions: {
        description: "The versions that are available.",
        type: "array",
        items: { type: "string", default: "" },
        "x-kubernetes-list-type": "atomic",
      },
    },
    "x-kubernetes-group-version-kind": [{ group: "", kind: "APIVersions", version: "v1" }],
  },
  [`${meta}.APIGroup`]: {
    description: "The name of a group, and the versions of it.",
    type: "object",
    required: ["name", "versions"],
    properties: {
      ...typeMeta,
      name: text("The name of the group."),
      preferredVersion: {
        description: "The version that the server prefers.",
        default: {},
        allOf: [{ $ref: `#/components/schemas/${meta}.GroupVersionForDiscovery` }],
      },
      serverAddressByClientCIDRs: addresses,
      versions: listOf("GroupVersionForDiscovery", "The versions of the group."),
    },
    "x-kubernetes-group-version-kind": [{ group: "", kind: "APIGroup", version: "v1" }],
  },
  [`${meta}.APIGroupList`]: {
    description: "The groups that are available.",
    type: "object",
    required: ["groups"],
    properties: { ...typeMeta, groups: listOf("APIGroup", "The groups.") },
    "x-kubernetes-group-version-kind": [{ group: "", kind: "APIGroupList", version: "v1" }],
  },
  [`${meta}.GroupVersionForDiscovery`]: {
    description: "A group and a version of it.",
    type: "object",
    required: ["groupVersion", "version"],
    properties: {
      groupVersion: text("The group and the version, as in apiVersion."),
      version: text("The version alone."),
    },
  },
  [`${meta}.ServerAddressByClientCIDR`]: {
    description: "The address of the server for clients of a network.",
    type: "object",
    required: ["clientCIDR", "serverAddress"],
    properties: {
      clientCIDR: text("The network of the clients."),
      serverAddress: text("The address of the server."),
    },
  },
  [versionInfo]: {
    description: "The version of the server.",
    type: "object",
    required: [
      ...["major", "minor", "gitVersion", "gitCommit", "gitTreeState", "buildDate"],
      ...["goVersion", "compiler", "platform"],
    ],
    properties: Object.fromEntries(
      [
        ...["major", "minor", "gitVersion", "gitCommit", "gitTreeState", "buildDate"],
        ...["goVersion", "compiler", "platform"],
      ].map((name) => [name, { type: "string", default: "" }]),
    ),
  },
};
