/** Where the Pod template of a kind is. */

/** By kind; all others have theirs in `spec.template`. */
const paths: Readonly<Record<string, readonly string[]>> = {
  CronJob: ["spec", "jobTemplate", "spec", "template"],
  ClusterDaemonSet: ["spec", "template", "spec", "template"],
  Pod: [],
};
const usual: readonly string[] = ["spec", "template"];

/** Members from the object to what has metadata and spec of Pods. */
export function podTemplatePath(kind: string): readonly string[] {
  return (Object.hasOwn(paths, kind) ? paths[kind] : undefined) ?? usual;
}
