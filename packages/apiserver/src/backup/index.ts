/** Backups: the file format, and the path that serves a backup. */
export { BackupFormatError } from "./backup-format.ts";
export { encodeBackup } from "./encode-backup.ts";
export { type BackupSummary, checkBackup, readBackup } from "./read-backup.ts";
export { type BackupDependencies, backupPath, backupType, serveBackup } from "./serve-backup.ts";
