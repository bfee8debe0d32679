/**
 * A valid object of every kind that is served in a workspace, for tests that iterate over all of
 * them.
 */
import { type SampleKind, sampleKind, sampleKinds } from "@kcp-ts/apiserver/testing";

const tenancy = "/apis/tenancy.kcp.io/v1alpha1";
const topology = "/apis/topology.kcp.io/v1alpha1";

/** System kinds that are defined by schemas. */
export const systemKinds: readonly SampleKind[] = [
  sampleKind(tenancy, "workspaces", "Workspace", "cluster", (value) => ({
    spec: { mount: { ref: { apiVersion: "example.com/v1", kind: "Place", name: value } } },
  })),
  sampleKind(tenancy, "workspacetypes", "WorkspaceType", "cluster", (value) => ({
    spec: { additionalWorkspaceLabels: { of: value } },
  })),
  sampleKind(
    tenancy,
    "workspaceauthenticationconfigurations",
    "WorkspaceAuthenticationConfiguration",
    "cluster",
    (value) => ({
      spec: {
        jwt: [
          {
            issuer: { url: "https://example.com", audiences: [value] },
            claimMappings: { username: { claim: "sub", prefix: "" } },
          },
        ],
      },
    }),
  ),
  sampleKind(topology, "partitions", "Partition", "cluster", (value) => ({
    spec: { selector: { matchLabels: { of: value } } },
  })),
  sampleKind(topology, "partitionsets", "PartitionSet", "cluster", (value) => ({
    spec: { dimensions: [value] },
  })),
];

export const allKinds: readonly SampleKind[] = [...sampleKinds, ...systemKinds];
