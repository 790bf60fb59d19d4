# Converts documents to PDF in an office program that is running already, with
# nothing around it. The only argument names the program's pipe. Each line of
# standard input holds the addresses of a document and of its result, with a tab
# between them; each is answered by a line.
import sys
import time

import uno
from com.sun.star.beans import PropertyValue
from com.sun.star.connection import NoConnectException

CONNECT_SECONDS = 60


def connect(pipe):
    local = uno.getComponentContext()
    resolver = local.ServiceManager.createInstanceWithContext("com.sun.star.bridge.UnoUrlResolver", local)
    deadline = time.monotonic() + CONNECT_SECONDS
    while True:
        try:
            return resolver.resolve("uno:pipe,name=%s;urp;StarOffice.ComponentContext" % pipe)
        except NoConnectException:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.01)


def main():
    context = connect(sys.argv[1])
    desktop = context.ServiceManager.createInstanceWithContext("com.sun.star.frame.Desktop", context)
    hidden = PropertyValue(Name="Hidden", Value=True)
    to_pdf = PropertyValue(Name="FilterName", Value="writer_pdf_Export")
    print("ready", flush=True)
    for line in sys.stdin:
        source, result = line.rstrip("\n").split("\t")
        document = desktop.loadComponentFromURL(source, "_blank", 0, (hidden,))
        document.storeToURL(result, (to_pdf,))
        document.close(True)
        print("done", flush=True)


main()
