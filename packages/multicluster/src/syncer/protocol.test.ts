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
  limitGateAnnotation,
  namespaceLocatorAnnotation,
  namespaceSignatureAnnotation,
  orphanAnnotation,
  propagatedToAnnotation,
  softFinalizersAnnotation,
  sourceClusterLabel,
  specDiffAnnotation,
  stateLabel,
  statusAnnotation,
  stopBeforeStartLabel,
  syncErrorAnnotation,
  syncerFinalizer,
  syncTargetFinalizer,
  tenantLabel,
  upsyncedFromAnnotation,
  volumeClusterAnnotation,
  volumeCopierAnnotation,
  volumeCopyRequestAnnotation,
  volumeCopyResultAnnotation,
  volumeGateAnnotation,
  volumeMigrationAnnotation,
  volumesAnnotation,
} from "../api/index.ts";
import {
  appliedDiffAnnotation,
  appliedGenerationAnnotation,
  appliedHashAnnotation,
  originAnnotation,
  syncErrorReasons,
} from "./protocol.ts";

describe("docs/guides/sync-protocol.md", () => {
  it("explains every reason, or says that it is on no object", () => {
    const page = new URL("../../../../docs/guides/sync-protocol.md", import.meta.url);
    const text = readFileSync(page, "utf8");
    const listed = [...text.matchAll(/^\| ([A-Z][A-Za-z]+) \|/gm)].map(([, reason]) => reason);
    const others = /never on an object[^:]*: (.*) are about the way/.exec(text)?.[1] ?? "";
    const all = [...listed, ...others.split(/, | and /)];
    assert.deepEqual(all.sort(), [...syncErrorReasons].sort());
  });

  it("lists exactly the names that the code uses", () => {
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
      syncErrorAnnotation(target),
      appliedDiffAnnotation(target),
      volumeGateAnnotation(target),
      limitGateAnnotation(target),
      attachedInClusterAnnotation,
      volumesAnnotation,
      volumeClusterAnnotation,
      volumeMigrationAnnotation,
      volumeCopierAnnotation,
      volumeCopyRequestAnnotation,
      volumeCopyResultAnnotation,
      namespaceLocatorAnnotation,
      namespaceSignatureAnnotation,
      tenantLabel,
      downstreamLabel,
      originAnnotation,
      appliedHashAnnotation,
      appliedGenerationAnnotation,
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
