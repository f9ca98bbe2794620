"""`attention-zoo publish FOLDER REPO`."""

from collections.abc import Sequence

from hf_attention_zoo.cli.command_parser import CommandParser
from hf_attention_zoo.cli.failures import printable


def main(argv: Sequence[str]) -> int:
    """Run the sub-command; returns the exit code."""
    parser = CommandParser(
        "publish",
        description="Send a model folder to the Hub, with its card. Log in first: hf auth login (or set HF_TOKEN).",
    )
    parser.add_argument("folder", help="folder of the model")
    parser.add_argument("repo", help="user/name or organisation/name")
    parser.add_argument("--private", action="store_true", help="make a repository that others cannot see")
    parser.add_argument("--revision", help="branch, made if need be")
    parser.add_argument("--message", help="commit message")
    parser.add_argument("--with-code", "--with_code", action="store_true", help="add the model's code")
    parser.add_argument(
        "--dry-run", "--dry_run", action="store_true", help="list the files that would be sent, and send nothing"
    )
    options = parser.parse_args(argv)

    from hf_attention_zoo.hub.publishing import PublishingError, check_repo_id, files_to_send, publish

    check_repo_id(options.repo)
    files = files_to_send(options.folder, with_code=options.with_code)
    for name, size in files.items():
        print(f"{size:>12,}  {printable(name)}")
    if options.dry_run:
        print(f"{len(files)} files, {sum(files.values()):,} bytes would be sent to {options.repo}; nothing was sent")
        return 0
    try:
        address = publish(
            options.folder,
            options.repo,
            private=options.private,
            with_code=options.with_code,
            revision=options.revision,
            commit_message=options.message,
        )
    except PublishingError as error:
        raise ValueError(str(error)) from error
    print(f"published: {address}")
    return 0
