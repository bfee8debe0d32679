/**
 * Goal: what can be claimed without an identity is what upstream lists
 * (TestAPIExportClaimableBuiltInAPIsDrift), found out from what a new workspace serves; kinds that
 * are served here and not there are named, so that one that is added is noticed.
 */
import assert from "node:assert/strict";
import { it } from "node:test";
import { startTestControlPlane } from "@kcp-ts/testing/internal";
import { admin, alice } from "./workspace-fixture.ts";
import { apisOf, WorkspaceRequests } from "./workspace-requests.ts";

/** As kcp v0.32.3 has them. */
const upstream = [
  "configmaps",
  "events",
  "namespaces",
  "resourcequotas",
  "secrets",
  "serviceaccounts",
  "clusterrolebindings.rbac.authorization.k8s.io",
  "clusterroles.rbac.authorization.k8s.io",
  "rolebindings.rbac.authorization.k8s.io",
  "roles.rbac.authorization.k8s.io",
  "certificatesigningrequests.certificates.k8s.io",
  "leases.coordination.k8s.io",
  "mutatingadmissionpolicies.admissionregistration.k8s.io",
  "mutatingadmissionpolicybindings.admissionregistration.k8s.io",
  "mutatingwebhookconfigurations.admissionregistration.k8s.io",
  "validatingadmissionpolicies.admissionregistration.k8s.io",
  "validatingadmissionpolicybindings.admissionregistration.k8s.io",
  "validatingwebhookconfigurations.admissionregistration.k8s.io",
  "events.events.k8s.io",
  "customresourcedefinitions.apiextensions.k8s.io",
  "tokenreviews.authentication.k8s.io",
  "localsubjectaccessreviews.authorization.k8s.io",
  "subjectaccessreviews.authorization.k8s.io",
  "logicalclusters.core.kcp.io",
];

/** Served in every workspace here: docs/internals/parity.md says why. */
const further = [
  "flowschemas.flowcontrol.apiserver.k8s.io",
  "prioritylevelconfigurations.flowcontrol.apiserver.k8s.io",
  "serviceexports.multicluster.x-k8s.io",
  "serviceimports.multicluster.x-k8s.io",
];

it("what is built in can be claimed without an identity, and reviews of oneself cannot", async () => {
  await using plane = await startTestControlPlane();
  const asking = new WorkspaceRequests(plane);
  await asking.allowWorkspaceCreation(admin);
  const cluster = await asking.workspace(alice, "team");
  const served = await resourcesIn(asking, cluster);
  const claimable: string[] = [];
  for (const { group, resource } of served) {
    const permissionClaims = [{ group, resource, verbs: ["*"] }];
    const { status, body } = await asking.request(
      alice,
      "POST",
      `${apisOf(cluster)}/apiexports?dryRun=All`,
      { metadata: { name: "claims" }, spec: { permissionClaims } },
    );
    if (status === 201) claimable.push(group === "" ? resource : `${resource}.${group}`);
    else
      assert.match(
        String(body.message),
        /identityHash is required for API types that are not built-in/,
        resource,
      );
  }
  assert.deepEqual(claimable.sort(), [...upstream, ...further].sort());
});

/** Of all groups but those of kcp, where the core of them counts. */
async function resourcesIn(
  workspaceRequests: WorkspaceRequests,
  cluster: string,
): Promise<readonly { readonly group: string; readonly resource: string }[]> {
  const { groups } = await workspaceRequests.expectSuccess(
    alice,
    "GET",
    `/clusters/${cluster}/apis`,
  );
  const paths = (groups as { name: string; preferredVersion: { groupVersion: string } }[])
    .filter(({ name }) => name === "core.kcp.io" || !name.endsWith("kcp.io"))
    .map(({ name, preferredVersion }) => [name, `apis/${preferredVersion.groupVersion}`] as const);
  const found: { group: string; resource: string }[] = [];
  for (const [group, path] of [["", "api/v1"] as const, ...paths]) {
    const list = await workspaceRequests.expectSuccess(
      alice,
      "GET",
      `/clusters/${cluster}/${path}`,
    );
    for (const { name } of list["resources"] as { name: string }[])
      if (!name.includes("/")) found.push({ group, resource: name });
  }
  return found;
}
