/** Backup and restore for the command line. */
export { type BackupContext, type BackupOptions, type BackupResult, backup } from "./backup.ts";
export { type Progress, readBackupFile, writeBackupFile } from "./backup-file.ts";
export { type RestoreOptions, type RestoreResult, restore } from "./restore.ts";
