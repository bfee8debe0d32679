/** What other suites compare with: a real kube-apiserver, requests to it, and its answers. */
export { compareResponses, describeDifference } from "./compare.ts";
export { without } from "./corpus/change.ts";
export { type CorpusResponse, valueAt } from "./corpus-request.ts";
export { type KubeApiserver, kubeApiserverMissing, startKubeApiserver } from "./kube-apiserver.ts";
export { normalize } from "./normalize.ts";
export { established, isNotFound } from "./requests.ts";
export { Sender, type Target } from "./send.ts";
