import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, it } from "node:test";
import {
  agentAnnotation,
  apiAccessLabel,
  apiAddressLabel,
  apiVersionAnnotation,
  atMostOneLabel,
  clusterLabel,
  clustersetAnnotation,
  copyOfAnnotation,
  deleteWhenScaledAnnotation,
  deletionAnnotation,
  downstreamLabel,
  exportAnnotation,
  exportedSinceAnnotation,
  followsAnnotation,
  heldInClusterAnnotation,
  importedServiceLabel,
  namespaceLocatorAnnotation,
  namespaceProofAnnotation,
  openedAnnotation,
  orphanAnnotation,
  softFinalizersAnnotation,
  sourceClusterLabel,
  specDiffAnnotation,
  stateLabel,
  statusAnnotation,
  syncerFinalizer,
  syncTargetFinalizer,
  takesOverFromAnnotation,
  tenantLabel,
  volumeCopiedAnnotation,
  volumeCopyAnnotation,
  volumeHookAnnotation,
  volumeMoveAnnotation,
  volumesAnnotation,
  volumesForAnnotation,
  volumesInAnnotation,
} from "../api/index.ts";
import {
  appliedDiffAnnotation,
  appliedGenerationAnnotation,
  appliedHashAnnotation,
  originAnnotation,
  syncedAnnotation,
  syncPolicyLabel,
  troubleReasons,
} from "./protocol.ts";

describe("docs/guides/sync-protocol.md", () => {
  it("says of every reason what it means, or that it is on no object", () => {
    const page = new URL("../../../../docs/guides/sync-protocol.md", import.meta.url);
    const text = readFileSync(page, "utf8");
    const listed = [...text.matchAll(/^\| ([A-Z][A-Za-z]+) \|/gm)].map(([, reason]) => reason);
    const others = /never on an object[^:]*: (.*) are about the way/.exec(text)?.[1] ?? "";
    const all = [...listed, ...others.split(/, | and /)];
    assert.deepEqual(all.sort(), [...troubleReasons].sort());
  });

  it("lists the names that the code uses, and no others", () => {
    const page = new URL("../../../../docs/guides/sync-protocol.md", import.meta.url);
    const listed = readFileSync(page, "utf8").matchAll(/^\| `([^`]+)` \|/gm);
    const target = "<target>";
    const used = [
      atMostOneLabel,
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
      openedAnnotation(target),
      takesOverFromAnnotation,
      heldInClusterAnnotation,
      volumesAnnotation,
      volumesForAnnotation,
      volumesInAnnotation,
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
      copyOfAnnotation,
      exportAnnotation,
      clustersetAnnotation,
      followsAnnotation,
      exportedSinceAnnotation,
      importedServiceLabel,
      sourceClusterLabel,
    ];
    assert.deepEqual([...listed].map(([, name]) => name).sort(), used.sort());
  });
});
