/** Deleting one object, after the server has said that it would. */
import { useState } from "preact/hooks";
import { Dialog, ErrorNotice, KubectlLine, Loading, shellLine } from "../elements/index.ts";
import { accessTo, useLoaded } from "../live/index.ts";
import { useSession } from "../session/index.ts";
import { ActionButton } from "./action-button.tsx";
import type { ObjectProps } from "./object.tsx";

interface DeleteObjectProps extends ObjectProps {
  readonly onClose: () => void;
  readonly onDeleted: () => void;
}

export function DeleteObject({ cluster, resource, object, onClose, onDeleted }: DeleteObjectProps) {
  const client = useSession().clientIn(cluster).resource(resource);
  const [error, setError] = useState<unknown>();
  const { name, namespace, uid = "", finalizers = [] } = object.metadata;
  const target = { name, namespace };
  const trial = useLoaded(async (signal) => {
    await client.delete(target, { dryRun: true, preconditions: { uid }, signal });
    return true;
  }, uid);
  const flags = namespace === undefined ? [] : ["-n", namespace];
  return (
    <Dialog title={`Delete ${resource.kind} ${name}`} onClose={onClose}>
      {trial.error === undefined ? null : <ErrorNotice error={trial.error} />}
      {trial.result === undefined && trial.error === undefined ? (
        <Loading what="the result of a dry run" />
      ) : null}
      {trial.result === true ? (
        <p>
          {`What it owns is collected with it.${finalizers.length > 0 ? ` It stays until these finalizers are done: ${finalizers.join(", ")}.` : ""}`}
        </p>
      ) : null}
      {error === undefined ? null : <ErrorNotice error={error} />}
      <KubectlLine line={shellLine`kubectl delete ${resource.singular} ${flags} ${name}`} />
      <footer>
        <ActionButton
          client={client.client}
          access={accessTo(resource, "delete", object.metadata)}
          class="danger"
          isReady={trial.result === true}
          onClick={() => {
            client.delete(target, { preconditions: { uid } }).then(onDeleted, setError);
          }}
        >
          Delete
        </ActionButton>
      </footer>
    </Dialog>
  );
}
