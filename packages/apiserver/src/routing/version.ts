/** /version, which clients parse to detect features. */
import { kcpVersion } from "@kcp-ts/machinery/base";
import type { JsonObject } from "@kcp-ts/machinery/json";

/** The Kubernetes release whose semantics the server follows; the suffix is kcp-ts's own. */
export const kubernetesVersion = "v1.36.4";

export const versionInfo: JsonObject = {
  major: "1",
  minor: "36",
  gitVersion: `${kubernetesVersion}+kcp-ts-v${kcpVersion}`,
  gitCommit: "",
  gitTreeState: "clean",
  buildDate: "1970-01-01T00:00:00Z",
  goVersion: "",
  compiler: "tsc",
  platform: `${process.platform}/${process.arch === "x64" ? "amd64" : process.arch}`,
};
