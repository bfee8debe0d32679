/**
 * Goal: applications as people write them run over two clusters, applied with kubectl and
 * unchanged. What becomes of each of their objects is the table in docs/guides/applications.md:
 * when it differs, the test says what the page has to say.
 */
import { describe } from "node:test";
import { kubectlMissing } from "@kcp-ts/testkit";
import { simulatedClusters } from "../../test-environments/index.ts";
import { testApplications } from "./test-applications.ts";

describe("applications, unchanged", { skip: kubectlMissing() ?? false }, () => {
  testApplications(simulatedClusters);
});
