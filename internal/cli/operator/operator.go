// Package operator has the commands for the machine of a server: they run it, or work on its data. They run on Linux.
package operator

import (
	"errors"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/relaypdf/relaypdf/internal/app"
	"github.com/relaypdf/relaypdf/internal/cli/console"
	"github.com/relaypdf/relaypdf/internal/setting"
	"github.com/relaypdf/relaypdf/service/operation"
	"github.com/relaypdf/relaypdf/service/schema"
	"github.com/relaypdf/relaypdf/store"
)

// Commands returns the commands of a server with the operations of table.
func Commands(table *schema.Table[*operation.Deps]) []*cobra.Command {
	all := []*cobra.Command{
		newServeCommand(), newAccountsCommand(), newPeopleCommand(), newKeysCommand(table), newSecretCommand(),
		newConfigCommand(), newRoutesCommand(), newDoctorCommand(), newMigrateCommand(), newBackupCommand(),
		newRestoreCommand(), NewEngineCommand(),
	}
	for _, cmd := range all {
		explainMissing(cmd)
	}
	return all
}

// explainMissing makes an ID or a name that the data lacks, or has already, an error of the command line.
func explainMissing(cmd *cobra.Command) {
	if run := cmd.RunE; run != nil {
		cmd.RunE = func(cmd *cobra.Command, args []string) error {
			err := run(cmd, args)
			if errors.Is(err, store.ErrNotFound) || errors.Is(err, store.ErrExists) {
				err = console.UsageError{Err: err}
			}
			return err
		}
	}
	for _, sub := range cmd.Commands() {
		explainMissing(sub)
	}
}

// DataSettings returns the settings that locate the data.
func DataSettings() []setting.Setting {
	var all []setting.Setting
	for _, name := range dataSettings {
		all = append(all, app.LookupSetting(name))
	}
	return all
}

// addSettings defines the flags of single settings, for commands that have no
// use for most of a group.
func addSettings(flags *pflag.FlagSet, names ...string) {
	app.AddFlags(flags)
	for _, name := range names {
		app.LookupSetting(name).AddFlag(flags)
	}
}
