import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, it } from "node:test";
import {
  agentAnnotation,
  apiAccessLabel,
  apiAddressLabel,
  apiVersionAnnotation,
  attachedInClusterAnnotation,
  clusterLabel,
  clustersetAnnotation,
  deleteWhenScaledAnnotation,
  deletionAnnotation,
  downstreamLabel,
  exportAnnotation,
  exportedSinceAnnotation,
  importedServiceLabel,
  migrationSourceAnnotation,
  namespaceLocatorAnnotation,
  namespaceProofAnnotation,
  orphanAnnotation,
  propagatedToAnnotation,
  requestedOrdinalsAnnotation,
  softFinalizersAnnotation,
  sourceClusterLabel,
  specDiffAnnotation,
  stateLabel,
  statusAnnotation,
  stopBeforeStartLabel,
  syncerFinalizer,
  syncTargetFinalizer,
  tenantLabel,
  upsyncedFromAnnotation,
  volumeClusterAnnotation,
  volumeCopiedAnnotation,
  volumeCopyAnnotation,
  volumeGateAnnotation,
  volumeHookAnnotation,
  volumeMoveAnnotation,
  volumesAnnotation,
} from "../api/index.ts";
import {
  appliedDiffAnnotation,
  appliedGenerationAnnotation,
  appliedHashAnnotation,
  originAnnotation,
  syncErrorReasons,
  syncedAnnotation,
  syncPolicyLabel,
} from "./protocol.ts";

describe("docs/guides/sync-protocol.md", () => {
  it("says of every reason what it means, or that it is on no object", () => {
    const page = new URL("../../../../docs/guides/sync-protocol.md", import.meta.url);
    const text = readFileSync(page, "utf8");
    const listed = [...text.matchAll(/^\| ([A-Z][A-Za-z]+) \|/gm)].map(([, reason]) => reason);
    const others = /never on an object[^:]*: (.*) are about the way/.exec(text)?.[1] ?? "";
    const all = [...listed, ...others.split(/, | and /)];
    assert.deepEqual(all.sort(), [...syncErrorReasons].sort());
  });

  it("lists the names that the code uses, and no others", () => {
    const page = new URL("../../../../docs/guides/sync-protocol.md", import.meta.url);
    const listed = readFileSync(page, "utf8").matchAll(/^\| `([^`]+)` \|/gm);
    const target = "<target>";
    const used = [
      stopBeforeStartLabel,
      clusterLabel,
      stateLabel(target),
      deletionAnnotation(target),
      deleteWhenScaledAnnotation,
      softFinalizersAnnotation(target),
      syncerFinalizer(target),
      statusAnnotation(target),
      specDiffAnnotation(target),
      syncedAnnotation(target),
      appliedDiffAnnotation(target),
      volumeGateAnnotation(target),
      migrationSourceAnnotation,
      attachedInClusterAnnotation,
      volumesAnnotation,
      requestedOrdinalsAnnotation,
      volumeClusterAnnotation,
      volumeMoveAnnotation,
      volumeHookAnnotation,
      volumeCopyAnnotation,
      volumeCopiedAnnotation,
      namespaceLocatorAnnotation,
      namespaceProofAnnotation,
      tenantLabel,
      downstreamLabel,
      originAnnotation,
      appliedHashAnnotation,
      appliedGenerationAnnotation,
      syncPolicyLabel,
      syncTargetFinalizer,
      orphanAnnotation,
      apiAccessLabel,
      apiAddressLabel,
      agentAnnotation,
      apiVersionAnnotation,
      upsyncedFromAnnotation,
      exportAnnotation,
      clustersetAnnotation,
      propagatedToAnnotation,
      exportedSinceAnnotation,
      importedServiceLabel,
      sourceClusterLabel,
    ];
    assert.deepEqual([...listed].map(([, name]) => name).sort(), used.sort());
  });
});
